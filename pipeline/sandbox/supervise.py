"""Watches over a command: takes its output, ends it at its deadline or where its processes hold too much memory."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from typing import IO, NamedTuple, cast

from pipeline.sandbox.command import Ended, SandboxedCommand
from pipeline.sandbox.descriptors import Descriptor
from pipeline.sandbox.inmates import Inmates
from pipeline.sandbox.kept_output import KeptOutput

LOOK_EVERY_S = 0.05  # at memory: at a few GB/s, a fast allocation gets some hundred MB beyond its limit
_CHUNK = 2**16


class Supervised(NamedTuple):
    """How the watch ended."""

    ended: Ended
    """`EXITED` where it ended by itself, however."""
    output: KeptOutput
    reason: str = ""


def supervise(command: SandboxedCommand, process: subprocess.Popen[bytes], inmates: Inmates, root: int) -> Supervised:
    """Wait for the end of a command, or bring it about.

    Args:
        process: bubblewrap, whose standard output is both streams of the command.
        root: the sandbox's own file system, as a descriptor.
    """
    until = time.monotonic() + command.timeout_s
    kept, stream = KeptOutput(command.max_output_bytes), cast("IO[bytes]", process.stdout)
    look_at = 0.0
    with selectors.DefaultSelector() as selector, Descriptor(os.pidfd_open(process.pid)) as end:
        selector.register(stream, selectors.EVENT_READ)
        selector.register(end.number, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            if now >= until:
                return Supervised(Ended.TIMED_OUT, kept, f"it was stopped after {command.timeout_s:g} s")
            if command.stop is not None and command.stop.is_set():
                return Supervised(Ended.STOPPED, kept, "it was stopped from outside")
            if now >= look_at:
                look_at = now + LOOK_EVERY_S
                held = _held_bytes(inmates, root, command.limits.memory_bytes)
                if held > command.limits.memory_bytes:
                    return Supervised(Ended.OUT_OF_MEMORY, kept, _too_much(held, command.limits.memory_bytes))
            ready = [key.fileobj for key, _ in selector.select(min(until, look_at) - now)]
            if stream in ready:
                _take(stream, kept, selector)
            elif ready:
                return Supervised(Ended.EXITED, kept)


def _take(stream: IO[bytes], kept: KeptOutput, selector: selectors.BaseSelector) -> None:
    data = os.read(stream.fileno(), _CHUNK)
    kept.add(data)
    if not data:
        selector.unregister(stream)


def _held_bytes(inmates: Inmates, root: int, most: int) -> int:
    space = os.fstatvfs(root)
    on_disk = (space.f_blocks - space.f_bfree) * space.f_frsize
    return on_disk + inmates.memory_bytes(most - on_disk)


def _too_much(held: int, most: int) -> str:
    return (
        f"its processes and files held {held / 2**20:,.0f} MiB, more than the {most / 2**20:,.0f} MiB that are allowed"
    )
