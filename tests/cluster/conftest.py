"""Clusters as processes of their own, each in a folder and with a token of its own.

`ray stop` is never used: it ends every cluster of the machine.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from work import Work, index_of

ROOT = Path(__file__).parents[2]
HOST = Path(__file__).with_name("host.py")
PATIENCE_S = 120.0  # for anything on a busy machine


class ClusterHost(NamedTuple):
    """A cluster in a process of its own, and the environment in which a driver finds it."""

    process: subprocess.Popen[str]
    environ: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def address(self) -> str:
        return str(self.facts["address"])

    def order(self, *words: object) -> dict[str, Any]:
        assert self.process.stdin is not None
        print(*words, file=self.process.stdin, flush=True)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        heard = []
        for line in self.process.stdout:
            if line.startswith("{"):
                return dict(json.loads(line))
            heard.append(line)  # Ray itself says a word or two
        raise AssertionError(f"the cluster's process ended with {self.process.wait()}: {''.join(heard)[-2000:]}")

    def assay(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start the command line on this cluster."""
        return start_assay(self.environ | {"RAY_ADDRESS": self.address} | variables, *arguments)


def start_assay(environ: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *arguments], cwd=ROOT, env=environ,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def result_of(process: subprocess.Popen[str], timeout_s: float = PATIENCE_S) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, out, err


def wait_until(is_so: Callable[[], bool], what: str, run: subprocess.Popen[str] | None = None) -> None:
    """Wait for something that happens while `run` is at work."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if run is not None and run.poll() is not None:
            raise AssertionError(f"{what}: the run ended with {result_of(run)}")
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def free_port() -> int:
    """One of those that the kernel gives away: above the ports of Ray's workers (10,002 to 19,999)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environ_without_ray() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


@pytest.fixture(scope="session")
def ray_environ() -> Iterator[dict[str, str]]:
    """Of a cluster and its users: a token in a file of its own, and a short folder, below which sockets lie."""
    temp = tempfile.mkdtemp(prefix="c", dir="/tmp")
    Path(temp, "ray").mkdir()
    token = Path(temp, "token")
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    own = {"RAY_TMPDIR": temp, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "HOME": temp}
    patient = {
        "RAY_raylet_start_wait_time_s": "120",
        "RAY_gcs_server_port_wait_time_s": "120",
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120",
    }
    yield environ_without_ray() | own | patient | {"RAY_USAGE_STATS_ENABLED": "0"}
    shutil.rmtree(temp, ignore_errors=True)


@pytest.fixture(scope="session")
def start_cluster(ray_environ: dict[str, str]) -> Iterator[Callable[..., ClusterHost]]:
    """Starts clusters: the head's options, then the CPUs of each further node."""
    hosts: list[ClusterHost] = []

    def start(head: Mapping[str, Any], *cpus: int) -> ClusterHost:
        process = subprocess.Popen(
            [sys.executable, str(HOST), json.dumps(head), *map(str, cpus)], cwd="/", env=ray_environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        host = ClusterHost(process, ray_environ, {})
        hosts.append(host)
        return host._replace(facts=host.answer())

    yield start
    for host in hosts:
        end(host.process)


def end(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate("end\n", timeout=20)
    except (subprocess.TimeoutExpired, OSError, ValueError):
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return Work.lay_out(tmp_path_factory.mktemp("work") / "squares")


@pytest.fixture(scope="session")
def undisturbed(work: Work, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run in one process leaves."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    work.begin(pace=0.0)
    code, _, err = result_of(start_assay(environ_without_ray(), *work.command(store, "--engine", "inline")))
    assert code == 0, err
    return index_of(store)
