"""The processes of one command: told from all others by their TMPDIR, or by their parents. Knows no run."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Victim(StrEnum):
    """Who is killed."""

    DRIVER = "driver"
    WORKER = "worker"
    SQL = "SQL process"
    RAYLET = "raylet"
    GCS = "GCS server"


_COMMANDS = {
    Victim.WORKER: re.compile(r"^ray::EngineActor"),
    Victim.SQL: re.compile(r"python\S* -I -S -c "),
    Victim.RAYLET: re.compile(r"^\S*/raylet "),
    Victim.GCS: re.compile(r"^\S*/gcs_server "),
}


# Ray's two agents outlive a killed raylet by a minute: they want to tell a GCS server of it that is gone as well, and
# Ray 2.60 gives each such request 60 s. They hold no work and no file of ours.
ORPHANS = re.compile(
    r"^ray::(DashboardAgent|RuntimeEnvAgent)|ray/dashboard/agent\.py |ray/_private/runtime_env/agent/main\.py "
)


class Process(NamedTuple):
    """One process; a number that is given again later is another."""

    pid: int
    started: str
    parent: int
    command: str

    @property
    def is_alive(self) -> bool:
        """Neither ended nor a zombie."""
        found = _look_at(self.pid)
        return found is not None and found.started == self.started


def family(temp: str) -> list[Process]:
    """Every living process that was started with this TMPDIR, and all below them."""
    everybody = {int(path.name): _look_at(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    living = {pid: process for pid, process in everybody.items() if process is not None}
    mark = f"TMPDIR={temp}\0".encode()
    found = {pid for pid in living if mark in _environment_of(pid)}
    while more := {pid for pid, process in living.items() if process.parent in found} - found:
        found |= more
    return [living[pid] for pid in sorted(found)]


def victims(kind: Victim, temp: str, driver: int) -> list[Process]:
    """The living processes of one kind. SQL processes: those of workers; where there are none, those of the driver."""
    everybody = family(temp)
    if kind is Victim.DRIVER:
        return [process for process in everybody if process.pid == driver]
    found = [process for process in everybody if _COMMANDS[kind].search(process.command)]
    return [process for process in found if process.parent != driver] or found


def kill(process: Process) -> bool:
    """SIGKILL; False where it had ended by itself."""
    if not process.is_alive:
        return False
    os.kill(process.pid, signal.SIGKILL)
    return True


def survivors(processes: Iterable[Process], temp: str, patience_s: float) -> list[Process]:
    """Who of them and of the family still lives when the time is over, but for `ORPHANS`."""
    known = list(processes)

    def left() -> list[Process]:
        ours = [process for process in {*known, *family(temp)} if not ORPHANS.search(process.command)]
        return [process for process in ours if process.is_alive]

    within(patience_s, lambda: not left())
    return left()


def catches(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a handler of its own for a signal."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.MULTILINE)
        return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)
    return False


def within(patience_s: float, is_so: Callable[[], bool], pause_s: float = 0.05) -> bool:
    """Wait until it is so; False where the time is over first."""
    deadline = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause_s)
    return True


def _look_at(pid: int) -> Process | None:
    try:
        # The name stands between brackets and may hold blanks; the state, the parent and so on follow it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # it has ended
        return None
    return None if fields[0] in "ZX" else Process(pid, fields[19], int(fields[1]), command)


def _environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # it has just ended, or is somebody else's
        return b""
