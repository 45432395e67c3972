"""Asks a cluster's control process (GCS) without joining: is it there, does it let us in, is it of our version."""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
import time

from pipeline.errors import EngineError

PROBE_TIMEOUT_S = 5.0  # a dead address costs Ray itself more than two minutes of retries
ASK_TIMEOUT_S = 60.0  # for a process to import Ray on a busy machine (0.5 s on an idle one); the answer takes 0.01 s
LOOK_EVERY_S = 5.0
OWN_LOOK_EVERY_S = 1.0
GONE_S = 40.0  # without the GCS; after 60 s Ray ends this process with status 1, and nobody learns that it can go on

_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # RFC 9113: 3.4, empty SETTINGS
_FRAME_HEAD = 9  # bytes; the fourth is the type of the frame
_SETTINGS = 4
_TOKEN = "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH to a file with the cluster's token (or RAY_AUTH_TOKEN to it)"
_ASK = """
import json, sys
import ray
from ray._common.usage.usage_lib import get_cluster_metadata
from ray._private.utils import check_version_info
from ray._raylet import GcsClient
try:
    said = get_cluster_metadata(GcsClient(address=sys.argv[1]))
except ray.exceptions.AuthenticationError as error:
    said = {"refusal": str(error)}
except ray.exceptions.RayError as error:
    said = {"fault": str(error)}
else:
    try:
        check_version_info(said, "this machine")
    except RuntimeError:
        said["is_other"] = True
print(json.dumps(said))
"""


def probe(target: str, address: str, *, timeout_s: float = PROBE_TIMEOUT_S) -> None:
    """Find out in seconds whether something that can be Ray (it speaks HTTP/2) listens at `target`.

    Args:
        target: `host:port`.
        address: what the user called it.
        timeout_s: for the connection, and again for the answer.

    Raises:
        EngineError: nothing listens there, or something else.
    """
    advice = (
        "check the address and that the cluster runs, or leave out --ray-address and RAY_ADDRESS to use this machine"
    )
    try:
        if not speaks_http2(target, timeout_s):
            raise EngineError(
                f"what listens at {address} is not Ray (it does not speak gRPC): the port is that of `ray start --head "
                f"--port`, 6379 by default, and neither the dashboard's nor that of a job server; {advice}"
            )
    except (OSError, ValueError) as error:
        raise EngineError(f"no Ray answers at {address} ({target}: {error}): {advice}") from None


def speaks_http2(target: str, timeout_s: float) -> bool:
    """Greet whoever listens at `host:port`; a gRPC server answers with its settings, by itself and at once.

    Raises:
        OSError: nothing listens, or it takes connections and says nothing.
        ValueError: `target` is not `host:port`.
    """
    host, _, port = target.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s) as connection:
        if os.environ.get("RAY_USE_TLS", "0") not in ("0", ""):
            return True  # the greeting would have to be encrypted
        connection.sendall(_GREETING)
        reply = b""
        while len(reply) < _FRAME_HEAD and (more := connection.recv(_FRAME_HEAD - len(reply))):
            reply += more
        return len(reply) == _FRAME_HEAD and reply[3] == _SETTINGS


def check_membership(target: str, address: str) -> None:
    """Ask the GCS whether it takes our token, and whether its Ray and Python are ours.

    A process of its own asks: Ray's client writes to stderr, may end its process, and reads the token only once. What
    it could not find out is no error: Ray checks again when it joins, after up to 20 s of retries.

    Raises:
        EngineError: it refuses us, it is no GCS, or it is of another version.
    """
    try:
        asked = subprocess.run(
            [sys.executable, "-P", "-c", _ASK, target], capture_output=True, text=True, timeout=ASK_TIMEOUT_S
        )
        said = json.loads(asked.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return
    if "refusal" in said:
        raise EngineError(f"the cluster at {address} does not take this process's token ({_token_in_use()}): {_TOKEN}")
    if "fault" in said:
        raise EngineError(
            f"what listens at {address} is not the head of a Ray cluster ({said['fault'].strip()}): the port is that "
            "of `ray start --head --port`, 6379 by default"
        )
    if said.get("is_other"):
        raise EngineError(_versions_differ(address, said["ray_version"], said["python_version"]))


def _token_in_use() -> str:
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        return f"RAY_AUTH_MODE is {os.environ.get('RAY_AUTH_MODE') or 'not set'}, so none is sent"
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        if os.environ.get(name):
            return f"the one in {name}" + (f"={os.environ[name]}" if name.endswith("PATH") else "")
    return "the one in ~/.ray/auth_token"


def _versions_differ(address: str, ray_version: str, python_version: str) -> str:
    import ray

    return (
        f"the cluster at {address} runs Ray {ray_version} on Python {python_version}, this process Ray "
        f"{ray.__version__} on Python {platform.python_version()}: they must be equal; install the cluster's versions "
        "here, or start a cluster with these"
    )


class GcsWatch:
    """Looks now and then whether the GCS answers, while a run is at work. Used from one thread.

    Args:
        target: `host:port`.
        gone_s: seconds without an answer until it counts as gone.
        is_own: it runs on this machine, for this process alone: nobody will start it again.
    """

    def __init__(self, target: str, gone_s: float = GONE_S, *, is_own: bool = False) -> None:
        self._target = target
        self._gone_s = gone_s
        self._look_every_s = OWN_LOOK_EVERY_S if is_own else min(LOOK_EVERY_S, gone_s / 4)
        self._is_own = is_own
        self._last_look = self._last_answer = time.monotonic()
        self.is_gone = False
        """Whatever asks the GCS now would wait for it in vain."""

    def answers(self) -> bool:
        """Ask it now, once."""
        try:
            return speaks_http2(self._target, timeout_s=1.0)
        except OSError:
            return False

    def check(self) -> None:
        """Costs nothing between two looks; a GCS that restarts in time is not noticed.

        Raises:
            EngineError: it has not answered for `gone_s` seconds.
        """
        now = time.monotonic()
        if now - self._last_look < self._look_every_s:
            return
        try:
            if speaks_http2(self._target, timeout_s=1.0):
                self._last_answer = now
        except ConnectionRefusedError:  # its process has ended: one that is only busy lets us wait
            self.is_gone = self._is_own
        except OSError:
            pass
        self._last_look = time.monotonic()
        if self.is_gone or now - self._last_answer >= self._gone_s:
            self.is_gone = True
            raise EngineError(
                f"the cluster's control process (GCS) at {self._target} has not answered for "
                f"{now - self._last_answer:.0f} s: the head of the cluster is lost; what is done is kept, the same "
                "command goes on when there is a cluster again"
            )
