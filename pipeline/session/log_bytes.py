"""The bytes of a log: opened without being led astray, cut into whole lines, counted and digested as they pass by."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from pipeline.errors import InputError
from pipeline.records.audit_event import HEADER, MAX_HEADER_BYTES

BLOCK_BYTES = 1 << 18  # what is read at once: memory stays flat, and most lines are cut by one split
_WORTH_A_THREAD = 1 << 16  # bytes; a digest of so many lets other threads go on
_BLOCKS_AHEAD = 8  # that may wait for their digest: 2 MiB
MAX_LINE_BYTES = 64 << 20
"""A longer line is not read: it would take a multiple of itself in memory. Programs write images at most."""


class LogBytes:
    """A log as it stood when it was opened: what is appended later is not looked at. A context manager.

    Raises:
        InputError: on entering, where the file cannot be opened or is no plain file.
        OSError: while reading.
    """

    def __init__(self, path: Path, *, has_digest: bool = True) -> None:
        self.path = path
        self.has_digest = has_digest
        """Whether a digest is taken of what is read."""
        self.n_bytes = 0
        """Bytes that have been read."""
        self.is_too_long = False
        """Whether `blocks` stopped at a line beyond the limit."""
        self.n_left = 0
        """Bytes after the last line feed that was read."""
        self._digest = hashlib.sha256()
        self._thread: ThreadPoolExecutor | None = None
        """Takes the digest of a block while its lines are looked at."""
        self._digesting: deque[Future[None]] = deque()
        self._size = 0
        self._file: BinaryIO

    def __enter__(self) -> Self:
        try:
            # A FIFO would make the call wait for a writer.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path}: the log cannot be opened ({error})") from None
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise InputError(f"{self.path}: is not a file; expected an audit log")
        self._size = found.st_size
        self._file = open(descriptor, "rb", buffering=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self._thread is not None:
            self._thread.shutdown()

    @property
    def sha256(self) -> str:
        """Digest of the bytes read so far, if one is taken."""
        self._wait(0)
        return self._digest.hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the log, as it stood when it was opened."""
        return self._size

    def read_whole(self) -> bytes:
        """The bytes from where reading stands."""
        return b"".join(iter(lambda: self._read(BLOCK_BYTES), b""))

    def header_fault(self) -> str:
        """Read the first line. What is wrong with it; empty: it is the header."""
        first = self._read(len(HEADER))
        if first == HEADER:
            return ""
        found = (first + self._read(MAX_HEADER_BYTES - len(first))).partition(b"\n")[0] if first else b""
        return f"the first line is {_shown(found)}, expected {HEADER[:-1].decode()} and a line feed"

    def blocks(self) -> Iterator[list[bytes]]:
        """Whole lines without their line feeds, some at a time, from where reading stands. What is left is no line."""
        held: list[bytes] = []
        while block := self._read(BLOCK_BYTES):
            *lines, rest = block.split(b"\n")
            if lines:
                lines[0] = b"".join((*held, lines[0]))
                held, self.n_left = [], 0
                yield lines
            held.append(rest)
            self.n_left += len(rest)
            if self.n_left > MAX_LINE_BYTES:
                self.is_too_long = True
                return

    def read_on(self) -> bool:
        """Count and digest what is left. Whether there was a line feed in it."""
        found = False
        while block := self._read(BLOCK_BYTES):
            found = found or b"\n" in block
        return found

    def _read(self, n_bytes: int) -> bytes:
        wanted = min(n_bytes, self._size - self.n_bytes)
        block = self._file.read(wanted) if wanted > 0 else b""
        self.n_bytes += len(block)
        if self.has_digest:
            self._take_digest(block)
        return block

    def _take_digest(self, block: bytes) -> None:
        if len(block) < _WORTH_A_THREAD:
            self._wait(0)
            self._digest.update(block)
        else:
            self._wait(_BLOCKS_AHEAD)
            self._thread = self._thread or ThreadPoolExecutor(1)
            self._digesting.append(self._thread.submit(self._digest.update, block))

    def _wait(self, n_left: int) -> None:
        while len(self._digesting) > n_left:
            self._digesting.popleft().result()


def _shown(line: bytes) -> str:
    text = repr(line)[1:]
    return text if len(text) <= 40 else f"{text[:37]}..."
