"""The driver `native`: one command in bubblewrap, from the copy of its folder to the last of its processes."""

from __future__ import annotations

import json
import marshal
import math
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO, Any, NamedTuple, cast

from pipeline.errors import SandboxError, WorkspaceError
from pipeline.sandbox import launcher
from pipeline.sandbox.bubblewrap import options_for, order_for
from pipeline.sandbox.command import CommandOutcome, Ended, SandboxedCommand
from pipeline.sandbox.descriptors import Descriptor, filled, pipe, read_line
from pipeline.sandbox.drivers import find_bubblewrap
from pipeline.sandbox.inmates import Inmates
from pipeline.sandbox.network import Network, opened_network
from pipeline.sandbox.profile import USER_ID
from pipeline.sandbox.seccomp import filter_program
from pipeline.sandbox.supervise import Supervised, supervise
from pipeline.sandbox.workspace import copy_tree, give_tree_to, replace_tree

SETUP_TIMEOUT_S = 60.0  # until the command may start: namespaces, mounts
_MESSAGE_BYTES = 4096
_LAST_WORDS_S = 2.0
# Imported and not run as a script, which would be compiled for every command. Last in the path: hides no module.
_LAUNCH = "import sys; sys.path.append(sys.argv.pop(1)); import launcher; launcher.main()"
_NEEDS = (
    "driver native needs user namespaces and mounts in them, which this machine or container may forbid "
    "(kernel.unprivileged_userns_clone, user.max_user_namespaces, AppArmor, seccomp); nothing was run"
)


class _Sandbox(NamedTuple):
    """A sandbox that is laid out, and in which nothing runs yet."""

    process: subprocess.Popen[bytes]
    root: int
    """Its writable folders, as a descriptor."""
    control: socket.socket
    status: Descriptor
    block: Descriptor

    @property
    def output(self) -> IO[bytes]:
        """Both streams of the command."""
        return cast("IO[bytes]", self.process.stdout)


def run_native(command: SandboxedCommand, environment: Mapping[str, str]) -> CommandOutcome:
    """Run a command in bubblewrap; see `run_sandboxed`."""
    with _laid_out(command, environment) as sandbox, _folder(sandbox.root, "workspace") as tree:
        _fill(command, tree)
        inmates = _entered(sandbox)
        try:
            with opened_network(command, inmates.first, sandbox.root) as network:
                outcome = _carry_out(command, sandbox, inmates, network)
        finally:
            inmates.end()
            inmates.close()
        if command.keep_changes:
            replace_tree(tree, command.workspace)
        return outcome


@contextmanager
def _laid_out(command: SandboxedCommand, environment: Mapping[str, str]) -> Iterator[_Sandbox]:
    tool = find_bubblewrap(environment)
    with ExitStack() as stack:
        (block, let_go), (status, telling) = pipe(), pipe()
        inherited = {"block": block, "status": telling, "seccomp": filled(filter_program())}
        for end in (let_go, status, *inherited.values()):
            stack.enter_context(end)
        numbers = {name: end.number for name, end in inherited.items()}
        inherited["options"] = stack.enter_context(filled(options_for(command, numbers)))
        numbers["options"] = inherited["options"].number
        order = order_for(command, tool, numbers)
        process, control = stack.enter_context(_launched(order, list(numbers.values())))
        for end in inherited.values():
            end.close()
        root = stack.enter_context(_handed_over(control, process))
        yield _Sandbox(process, root.number, control, status, let_go)


@contextmanager
def _launched(order: dict[str, Any], numbers: list[int]) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with control, inner, tempfile.TemporaryFile() as file:
        file.write(marshal.dumps(order))
        file.flush()
        handed = (inner.fileno(), file.fileno())
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCH, os.path.dirname(launcher.__file__), *map(str, handed)],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(*handed, *numbers),
        ) as process:
            inner.close()
            try:
                yield process, control
            finally:
                process.kill()


def _handed_over(control: socket.socket, process: subprocess.Popen[bytes]) -> Descriptor:
    control.settimeout(SETUP_TIMEOUT_S)
    try:
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 1)
    except OSError as error:
        raise SandboxError(f"the sandbox was not laid out within {SETUP_TIMEOUT_S:.0f} s: {error}") from None
    if descriptors:
        return Descriptor(descriptors[0])
    reason = message.decode("utf-8", "replace") if message else _last_words(process)
    raise SandboxError(f"the sandbox cannot be laid out here: {reason or 'no answer'}; {_NEEDS}")


def _last_words(process: subprocess.Popen[bytes]) -> str:
    number, waiting = cast("IO[bytes]", process.stdout).fileno(), select.poll()
    waiting.register(number, select.POLLIN)
    said = os.read(number, _MESSAGE_BYTES) if waiting.poll(_LAST_WORDS_S * 1000) else b""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


@contextmanager
def _folder(root: int, name: str) -> Iterator[int]:
    with Descriptor(os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)) as found:
        yield found.number


def _fill(command: SandboxedCommand, tree: int) -> None:
    try:
        copy_tree(command.workspace, tree)
    except OSError as error:
        raise WorkspaceError(
            f"the workspace does not fit into the sandbox's {command.limits.disk_bytes:,} bytes and "
            f"{command.limits.files:,} files: {error.strerror}"
        ) from None
    if os.getuid() == 0:
        give_tree_to(tree, USER_ID)


def _entered(sandbox: _Sandbox) -> Inmates:
    """bubblewrap has made its namespaces and waits; its first process is the one that all others descend from."""
    sandbox.control.send(b"!")
    line, reason = read_line(sandbox.status, SETUP_TIMEOUT_S), "no answer"
    if line:
        try:
            return Inmates(int(json.loads(line)["child-pid"]))
        except SandboxError as error:
            reason = str(error)
    sandbox.process.kill()
    raise SandboxError(f"bubblewrap cannot make a sandbox here: {_last_words(sandbox.process) or reason}; {_NEEDS}")


def _carry_out(command: SandboxedCommand, sandbox: _Sandbox, inmates: Inmates, network: Network) -> CommandOutcome:
    _bound(command, sandbox.control, inmates.first)
    began = time.monotonic()
    os.write(sandbox.block.number, b"!")
    found = supervise(command, sandbox.process, inmates, sandbox.root)
    inmates.end()
    while piece := sandbox.output.read(2**16):
        found.output.add(piece)
    outcome = _outcome(found, _told_status(sandbox.status), sandbox.process.wait())
    return outcome._replace(duration_s=time.monotonic() - began, network=network.decisions())


def _bound(command: SandboxedCommand, control: socket.socket, first: int) -> None:
    """Have the limits set of the first process, which all others inherit."""
    limits = command.limits
    bounds = {
        resource.RLIMIT_AS: limits.address_space_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_NOFILE: limits.open_files,
        # What is left where nobody is there to end it at its deadline.
        resource.RLIMIT_CPU: math.ceil(command.timeout_s * (os.cpu_count() or 1)) + 1,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_MEMLOCK: 2**16,
    }
    control.send(marshal.dumps((first, tuple(bounds.items()))))
    try:
        answer = control.recv(_MESSAGE_BYTES)
    except OSError as error:
        answer = str(error).encode()
    if answer != b"!":
        raise SandboxError(f"the limits of the sandbox cannot be set: {answer.decode('utf-8', 'replace')}")


def _told_status(status: Descriptor) -> int | None:
    """What bubblewrap tells of the command's end; None: nothing."""
    line = read_line(status, 1.0)
    return int(json.loads(line)["exit-code"]) if line else None


def _outcome(found: Supervised, status: int | None, bubblewraps: int) -> CommandOutcome:
    """What it all means.

    Args:
        status: of the command, as bubblewrap tells it; None: it could not be started, or bubblewrap was killed.
        bubblewraps: its own exit status.
    """
    outcome = CommandOutcome(found.ended, output=found.output.value(), is_cut=found.output.is_cut, reason=found.reason)
    if found.ended is not Ended.EXITED:
        return outcome
    if status is None and bubblewraps < 0:
        return outcome._replace(ended=Ended.SIGNALLED, signal=-bubblewraps, reason="it was killed from outside")
    if status is None:
        reason = outcome.text.strip().removeprefix("bwrap: execvp ")
        return outcome._replace(ended=Ended.COULD_NOT_START, output=b"", reason=f"it cannot be started: {reason}")
    if 128 < status <= 128 + signal.SIGRTMAX:
        return outcome._replace(ended=Ended.SIGNALLED, signal=status - 128)
    return outcome._replace(exit_status=status)
