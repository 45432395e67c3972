"""Appends events to a log, one writer at a time: each chained to the one before, and on disk when `append` returns."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pipeline.errors import AssayError, InputError
from pipeline.records.audit_event import HEADER, NOTHING, AuditEvent, UnknownPayload
from pipeline.records.audit_wire import Payload
from pipeline.records.digest import digest_bytes
from pipeline.session.decode import ENVELOPE, UndecodableError, decode_line
from pipeline.session.log_bytes import MAX_LINE_BYTES
from pipeline.session.log_lines import event_line

_BLOCK_BYTES = 1 << 16


class AuditLogWriter:
    """The one writer of a log. A context manager: it holds the log's lock from entering to leaving.

    A log that is not there is begun; one that is there is continued. The tail of a write that was cut off goes first.

    Args:
        path: the log; its folder must be there.
        session: the id of the session. A log that begins with another one is refused.
        now_ms: gives Unix milliseconds.

    Raises:
        InputError: on entering: another process writes the log, or it is no log, or that of another session.
    """

    def __init__(self, path: Path, session: str, now_ms: Callable[[], int]) -> None:
        self.path = path
        self.session = session
        self._now_ms = now_ms
        self._descriptor = -1
        self._size = 0
        self._prev = ""
        self._at_once = threading.Lock()

    def __enter__(self) -> Self:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise InputError(f"{self.path}: the log cannot be opened for writing ({error})") from None
        try:
            self._lock()
            self._begin()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def append(self, payload: Payload | UnknownPayload, extra: Mapping[str, Any] = NOTHING) -> int:
        """Write one event. It is on disk when this returns.

        Args:
            payload: a model of `pipeline.records`, or an event of a name that is not known there.
            extra: members of the envelope that are not known.

        Returns:
            The event's id.

        Raises:
            InputError: what was given is no event that could be read again; nothing was written.
            OSError: the disk did not take it. What was written of it is gone, or is cut away by the next writer.
            AssayError: somebody else wrote to the log.
        """
        with self._at_once:
            if self._descriptor < 0:
                raise AssayError(f"{self.path}: the log is not open; use the writer in a with statement")
            line = self._line(payload, extra)
            self._write(line + b"\n")
            at, self._size, self._prev = self._size, self._size + len(line) + 1, digest_bytes(line)
            return at

    def _line(self, payload: Payload | UnknownPayload, extra: Mapping[str, Any]) -> bytes:
        name, raw = payload if isinstance(payload, UnknownPayload) else (payload.wire_name, payload.to_wire())
        if taken := [key for key in extra if key in ENVELOPE]:
            raise InputError(f"{self.path}: the event {name} cannot be written: {taken[0]} is the writer's own member")
        try:
            line = event_line(AuditEvent(0, self.session, self._now_ms(), name, raw, 1, self._prev, extra))
            decode_line(line, self._size)  # what could not be read would make all that follows worthless
        except (UndecodableError, ValueError, TypeError, RecursionError) as error:
            raise InputError(f"{self.path}: the event {name} cannot be written: {error}") from None
        if len(line) > MAX_LINE_BYTES:
            raise InputError(
                f"{self.path}: the event {name} has {len(line)} bytes, at most {MAX_LINE_BYTES} can be read"
            )
        return line

    def _write(self, data: bytes) -> None:
        found = os.fstat(self._descriptor).st_size
        if found != self._size:
            raise AssayError(
                f"{self.path}: has {found} bytes, {self._size} were written: something else wrote to the log without "
                "its lock; nothing more is appended"
            )
        try:
            n_written = os.write(self._descriptor, data)
            if n_written != len(data):
                raise OSError(f"{self.path}: {n_written} of {len(data)} bytes were written; is the disk full?")
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, self._size)
            if error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def _lock(self) -> None:
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise InputError(f"{self.path}: is not a file; expected an audit log")
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"{self.path}: another process is writing this log; wait for it, or end that session"
            ) from None

    def _begin(self) -> None:
        self._size = os.fstat(self._descriptor).st_size
        first = os.pread(self._descriptor, len(HEADER), 0)
        if first != HEADER and HEADER.startswith(first):  # new, or the very first write was cut off
            os.ftruncate(self._descriptor, 0)
            self._size = 0
            self._write(HEADER)
            _sync_folder(self.path.parent)
            self._size = len(HEADER)
        elif first != HEADER:
            raise InputError(f"{self.path}: is no audit log of version 1: it begins with {first!r}")
        self._cut_tail()
        self._prev = digest_bytes(self._last_line())
        self._check_session()

    def _cut_tail(self) -> None:
        end = self._line_feed_before(self._size) + 1
        if end != self._size:
            os.ftruncate(self._descriptor, end)
            os.fsync(self._descriptor)
            self._size = end

    def _last_line(self) -> bytes:
        start = self._line_feed_before(self._size - 1) + 1
        return self._read(start, self._size - 1)

    def _line_feed_before(self, end: int) -> int:
        """Offset of the last line feed before `end`; -1: there is none."""
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            found = self._read(start, end).rfind(b"\n")
            if found >= 0:
                return start + found
            end = start
        return -1

    def _read(self, start: int, end: int) -> bytes:
        pieces = []
        while start < end and (piece := os.pread(self._descriptor, end - start, start)):
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def _check_session(self) -> None:
        """A log has one session. What its first event cannot tell is for the check of the log to find."""
        if self._size == len(HEADER):
            return
        try:
            found = decode_line(self._first_line(), len(HEADER)).session
        except UndecodableError as error:
            raise InputError(f"{self.path}: the first event {error}; nothing is appended to a damaged log") from None
        if found != self.session:
            raise InputError(f"{self.path}: is the log of session {found}, not of {self.session}")

    def _first_line(self) -> bytes:
        pieces, start = [], len(HEADER)
        while start < self._size:
            piece, line_feed, _ = self._read(start, min(self._size, start + _BLOCK_BYTES)).partition(b"\n")
            pieces.append(piece)
            start += len(piece)
            if line_feed:
                break
        return b"".join(pieces)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)  # with it goes the lock
            self._descriptor = -1


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
