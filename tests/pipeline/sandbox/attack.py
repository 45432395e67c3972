"""What an attack is, what it is tried on, and how it is told whether it got through."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.sandbox import CommandOutcome, Ended, SandboxedCommand, SandboxLimits, run_sandboxed

PROGRAM = f"python{sys.version_info.major}.{sys.version_info.minor}"
LIMITS = SandboxLimits(
    memory_bytes=300 * 2**20, disk_bytes=64 * 2**20, file_bytes=32 * 2**20, files=5_000, processes=64, open_files=256
)
_FRAME = """
import ctypes, errno, fcntl, glob, os, resource, signal, socket, struct, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    found = libc.syscall(ctypes.c_long(number), *arguments)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found
def readable(path):
    with open(path, "rb") as file:
        return file.read(4096)
def put(path, text):
    found = os.open(path, os.O_WRONLY)
    return os.write(found, text.encode())
def attack():
{body}
try:
    through = attack()
except (OSError, subprocess.SubprocessError, RuntimeError, ValueError) as error:
    print(type(error).__name__, error)
    through = False
print("\\nTHROUGH" if through else "\\nSTOPPED", through, flush=True)
"""


class Ground(NamedTuple):
    """A machine with something to steal and something to break."""

    folder: Path
    secret: str
    """Stands in a file, in the environment and in a command line of the machine."""
    victim: int
    """A process of the machine."""
    port: int
    """Of a server on every address of the machine. It answers with the secret."""
    abstract: str
    """Of a server on an abstract Unix socket."""
    heard: list[str]
    """What the servers were sent."""

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def secret_file(self) -> Path:
        return self.folder / "others" / "secret.txt"

    def names(self) -> dict[str, str]:
        """What attacks call things by."""
        here = {"SECRET": self.secret, "SECRET_FILE": str(self.secret_file), "VICTIM": str(self.victim)}
        return here | {"PORT": str(self.port), "ABSTRACT": self.abstract, "HERE": str(self.folder)}

    def damage(self) -> str:
        """What was broken outside; empty: nothing."""
        if self.secret_file.read_text(encoding="utf-8") != self.secret:
            return "a file of the machine was changed"
        try:
            os.kill(self.victim, 0)
        except ProcessLookupError:
            return "a process of the machine was killed"
        return ""


class Attack(NamedTuple):
    """One attack, and the ways in which it may end."""

    group: str
    name: str
    attempt: Callable[[Ground], str]
    """Carries it out; empty: it was stopped, else how it got through."""


@contextlib.contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """Lay out what is attacked."""
    secret = f"secret-{secrets.token_hex(8)}"
    for name in ("workspace", "others"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    (folder / "others" / "secret.txt").write_text(secret, encoding="utf-8")
    (folder / "workspace" / "honest.txt").write_text("honest\n", encoding="utf-8")
    before = {name: value for name, value in os.environ.items() if name == "ASSAY_TEST_SECRET"}
    os.environ["ASSAY_TEST_SECRET"] = secret
    victim = subprocess.Popen(["sleep", "600"], env={"TOKEN": secret})
    heard: list[str] = []
    tcp = socket.create_server(("0.0.0.0", 0))
    abstract = f"assay-{secret}"
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(f"\0{abstract}")
    unix.listen()
    file = socket.socket(socket.AF_UNIX)
    file.bind(str(folder / "others" / "socket"))
    file.listen()
    servers = (tcp, unix, file)
    for server in servers:
        threading.Thread(target=_answer, args=(server, secret, heard), daemon=True).start()
    try:
        yield Ground(folder, secret, victim.pid, tcp.getsockname()[1], abstract, heard)
    finally:
        os.environ.pop("ASSAY_TEST_SECRET", None)
        os.environ |= before
        victim.kill()
        victim.wait()
        for server in servers:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


def _answer(server: socket.socket, secret: str, heard: list[str]) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            with client, contextlib.suppress(OSError):
                client.settimeout(2)
                heard.append(client.recv(65536).decode("latin-1"))
                client.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(secret)}\r\n\r\n{secret}".encode())


def inside(
    body: str,
    *,
    ends: tuple[Ended, ...] = (Ended.EXITED,),
    timeout_s: float = 20.0,
    within_s: float = 15.0,
    hosts: tuple[str, ...] = (),
    limits: SandboxLimits = LIMITS,
    judge: Callable[[Ground, CommandOutcome], str] | None = None,
) -> Callable[[Ground], str]:
    """An attack by a program in the sandbox: the body of a function that returns whether it got through.

    Args:
        body: UPPER-CASE names of `Ground.names` are filled in, with `@` before them.
        ends: how the command may end. Where it exits, it must have said that it was stopped.
        within_s: of the deadline; a sandbox that is still there later has got through.
        judge: looks at the machine afterwards.
    """

    def attempt(at: Ground) -> str:
        text = body
        for name, value in sorted(at.names().items(), key=lambda item: -len(item[0])):
            text = text.replace(f"@{name}", value)
        indented = "\n".join(f"    {line}" for line in text.strip("\n").splitlines())
        command = SandboxedCommand(
            (PROGRAM, "-c", _FRAME.replace("{body}", indented)),
            at.workspace,
            timeout_s=timeout_s,
            max_output_bytes=2**16,
            network_hosts=tuple(host.replace("@PORT", str(at.port)) for host in hosts),
            limits=limits,
            tools=() if sys.base_prefix.startswith("/usr") else (Path(sys.base_prefix),),
        )
        began = time.monotonic()
        outcome = run_sandboxed(command)
        if time.monotonic() - began > timeout_s + within_s:
            return "it held the sandbox beyond its deadline"
        return _told(outcome, ends, at) or at.damage() or (judge(at, outcome) if judge else "")

    return attempt


def _told(outcome: CommandOutcome, ends: tuple[Ended, ...], at: Ground) -> str:
    if outcome.ended not in ends:
        return f"it {outcome.ended.value}: {outcome.reason} {outcome.text[-300:]}"
    lines = outcome.text.splitlines()
    if any(line.startswith("THROUGH") for line in lines):
        return outcome.text[-300:]
    if at.secret in outcome.text:
        return "the secret was printed"
    is_over = outcome.ended is not Ended.EXITED or any(line.startswith("STOPPED") for line in lines)
    return "" if is_over else f"it was not carried out: {outcome.text[-300:]}"


def survivors(mark: str) -> list[str]:
    """Processes of this machine whose command line holds a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes()
                if mark.encode() in line:
                    found.append(entry.name)
    return found
