"""File descriptors that are closed once: a number that was closed twice may meanwhile belong to another thread."""

from __future__ import annotations

import os
import time
from select import POLLIN, poll
from types import TracebackType
from typing import Self


class Descriptor:
    """One descriptor, closed by `close` or at the end of its block, whichever comes first."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._is_open = True

    def close(self) -> None:
        """Close it if it is open."""
        if self._is_open:
            self._is_open = False
            os.close(self.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def pipe() -> tuple[Descriptor, Descriptor]:
    """Both ends of a pipe: for reading, for writing."""
    reading, writing = os.pipe()
    return Descriptor(reading), Descriptor(writing)


def filled(data: bytes) -> Descriptor:
    """A descriptor that gives these few bytes and then ends. A pipe holds 64 KiB without a reader."""
    reading, writing = pipe()
    with writing:
        os.write(writing.number, data)
    return reading


def read_line(found: Descriptor, timeout_s: float) -> bytes | None:
    """Bytes up to and with the first line feed, or all up to the end; None: neither came in time."""
    waiting, until, line = poll(), time.monotonic() + timeout_s, b""
    waiting.register(found.number, POLLIN)
    while not line.endswith(b"\n"):
        if not waiting.poll(max(0.0, until - time.monotonic()) * 1000):
            return None
        piece = os.read(found.number, 1)
        if not piece:
            break
        line += piece
    return line
