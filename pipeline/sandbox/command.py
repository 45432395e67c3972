"""A command for the sandbox, and what became of it."""

from __future__ import annotations

import threading
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pipeline.sandbox.limits import SandboxLimits


class Ended(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    """All processes together held more than allowed, and were killed."""
    STOPPED = "stopped"
    """Whoever had it run did not want it any more."""
    COULD_NOT_START = "could_not_start"


class SandboxedCommand(NamedTuple):
    """What is to be run, where, and within which bounds."""

    argv: tuple[str, ...]
    """The program and its arguments; no shell reads them."""
    workspace: Path
    """The folder that it works in: on a copy of its own, which is thrown away unless `keep_changes` is set."""
    timeout_s: float = 120.0
    max_output_bytes: int = 2**20
    """Of both streams together; more is counted and thrown away, out of the middle."""
    network_hosts: tuple[str, ...] = ()
    """Hosts that may be reached through the proxy, as `host` (ports 80 and 443) or `host:port`; none: no network."""
    limits: SandboxLimits = SandboxLimits()
    keep_changes: bool = False
    """Whether the folder is as the command left it afterwards."""
    tools: tuple[Path, ...] = ()
    """Folders outside of /usr that it may read, at the same paths; their `bin` is searched first."""
    stop: threading.Event | None = None
    """Set from another thread, it ends the command within a tenth of a second."""


class NetworkDecision(NamedTuple):
    """One request to the proxy."""

    host: str
    port: int
    is_allowed: bool
    reason: str


class CommandOutcome(NamedTuple):
    """What became of one command."""

    ended: Ended
    exit_status: int | None = None
    """Set where it exited."""
    signal: int | None = None
    """Set where a signal ended it. A command that itself exits with 128 + n looks the same, as in a shell."""
    output: bytes = b""
    """Both streams in the order in which they were written, at most `max_output_bytes`."""
    is_cut: bool = False
    """Whether there was more output."""
    reason: str = ""
    """Why it could not be started, or what stopped it."""
    duration_s: float = 0.0
    network: tuple[NetworkDecision, ...] = ()
    """What was asked of the proxy, in order."""

    @property
    def text(self) -> str:
        """The output as text; what is no UTF-8 is shown as such."""
        return self.output.decode("utf-8", "replace")

    @property
    def is_success(self) -> bool:
        """Whether it exited with 0."""
        return self.exit_status == 0
