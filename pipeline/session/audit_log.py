"""Reads and verifies audit logs in one pass, whatever their size. An evaluation believes only what was verified."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.errors import InputError
from pipeline.records.audit_event import HEADER, AuditEvent
from pipeline.records.audit_names import Verdict
from pipeline.records.audit_verdict import ChainVerdict
from pipeline.records.digest import digest_bytes
from pipeline.session.decode import UndecodableError, decode_line
from pipeline.session.log_bytes import MAX_LINE_BYTES, LogBytes
from pipeline.session.usual_lines import MAX_BYTES, events_of, is_utf8, usual_event, usual_matcher

HEADER_DIGEST = digest_bytes(HEADER[:-1])
"""What the first event is chained to."""


def verify_log(path: Path, on_event: Callable[[AuditEvent], object] | None = None) -> ChainVerdict:
    """Check a log's header, its hash chain and that each line is an event. Never raises for what the file holds.

    Args:
        path: the log. What is appended after the call began is not looked at.
        on_event: is given each event that decodes, in order, also past a break, so that what is believed are the very
            bytes that were verified.
    """
    try:
        with LogBytes(path) as log:
            fault = log.header_fault()
            if fault:
                log.read_on()
                return _without_events(Verdict.BAD_HEADER, log, fault)
            chain = _Chain()
            chain.follow(log, on_event)
            return chain.verdict_on(log)
    except (InputError, OSError) as error:
        return _without_events(Verdict.UNREADABLE, None, str(error))


def read_events(path: Path) -> Iterator[AuditEvent]:
    """The events of a log, one by one, without a look at the chain; a line that is not ended is left out.

    Raises:
        InputError: cannot be read, another header, or a line that is no event; names file and offset.
    """
    try:
        with LogBytes(path, has_digest=False) as log:
            if fault := log.header_fault():
                raise InputError(f"{path}: {fault}")
            offset = len(HEADER)
            for lines in log.blocks():
                yield from events_of(lines, offset)
                offset += sum(map(len, lines)) + len(lines)
            if log.is_too_long and log.read_on():
                raise UndecodableError(f"is longer than {MAX_LINE_BYTES} bytes")
    except OSError as error:
        raise InputError(f"{path}: the log cannot be read ({error})") from None
    except UndecodableError as error:
        raise InputError(f"{path}: the line at byte {error.at or offset} {error}") from None


class _Chain:
    """How far the chain was followed, and the first place where it is broken."""

    def __init__(self) -> None:
        self.offset = len(HEADER)
        self.n_events = self.n_chained = 0
        self.break_at: tuple[int, int] | None = None
        """Id of the event that disagrees, and of the one before it."""
        self.fault = ""
        """Why the line at `offset` is no event."""

    def follow(self, log: LogBytes, on_event: Callable[[AuditEvent], object] | None) -> None:
        """Through all whole lines, or to the first that is no event."""
        expected, last, offset, n_events, n_chained = HEADER_DIGEST, 0, self.offset, 0, 0
        sha256, match = hashlib.sha256, usual_matcher()
        try:
            for lines in log.blocks():
                for line in lines:
                    usual = match(line) if len(line) <= MAX_BYTES else None
                    if usual is None or not (line.isascii() or is_utf8(line)):
                        event = decode_line(line, offset)
                        prev: str = event.prev
                        if on_event is not None:
                            on_event(event)
                    else:
                        prev = usual[4].decode()
                        if on_event is not None:
                            on_event(usual_event(usual, offset))
                    n_events += 1
                    if prev:
                        n_chained += 1
                        if prev != expected and self.break_at is None:
                            self.break_at = (offset, last)
                    expected = sha256(line).hexdigest()
                    last = offset
                    offset += len(line) + 1
        except UndecodableError as error:
            self.fault = str(error)
        self.offset, self.n_events, self.n_chained = offset, n_events, n_chained

    def verdict_on(self, log: LogBytes) -> ChainVerdict:
        """Reads the rest of the log for its digest."""
        has_line_feed = log.read_on()
        if log.is_too_long and has_line_feed:
            self.fault = f"is longer than {MAX_LINE_BYTES} bytes"
        verdict, at, after, reason = self._judge(is_torn=not self.fault and log.n_left > 0)
        return ChainVerdict(
            verdict=verdict,
            at=at,
            after=after,
            events=self.n_events,
            chained=self.n_chained,
            sha256=log.sha256,
            bytes=log.n_bytes,
            reason=reason,
        )

    def _judge(self, *, is_torn: bool) -> tuple[Verdict, int, int, str]:
        if self.break_at is not None:
            at, after = self.break_at
            before = f"the event at byte {after}" if after else "the header"
            return Verdict.BROKEN, at, after, f"the event at byte {at} is not chained to {before} as it stands"
        if self.fault:
            return Verdict.UNDECODABLE, self.offset, 0, f"the line at byte {self.offset} {self.fault}"
        if is_torn:
            return Verdict.TORN, self.offset, 0, f"the line at byte {self.offset} is not ended: a write was cut off"
        if self.n_chained == self.n_events:
            return Verdict.INTACT, 0, 0, "" if self.n_events else "holds no events"
        if self.n_chained == 0:
            return Verdict.UNCHAINED, 0, 0, f"none of {self.n_events} events is chained to the one before"
        return Verdict.PARTLY_CHAINED, 0, 0, f"{self.n_chained} of {self.n_events} events are chained"


def _without_events(verdict: Verdict, log: LogBytes | None, reason: str) -> ChainVerdict:
    return ChainVerdict(
        verdict=verdict,
        at=None,
        after=None,
        events=None,
        chained=None,
        sha256=None if log is None else log.sha256,
        bytes=None if log is None else log.n_bytes,
        reason=reason,
    )
