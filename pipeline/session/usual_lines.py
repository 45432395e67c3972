"""Lines in the usual form, known by one regular expression that is made of the events' models.

The usual form is what programs write: members in order, nothing between them, nothing in them that is not known, plain
escapes. A line that matches, and is UTF-8, is an event, and no key stands twice in it: the expression admits only what
`decode.decode_line` would, which a property test compares. So a line need not be parsed to be verified.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import orjson

from pipeline.records.audit_event import NOTHING, PAYLOADS, AuditEvent
from pipeline.records.audit_wire import AsFound, WireRecord
from pipeline.session.decode import UndecodableError, decode_line

MAX_BYTES = 1500  # it takes as long as parsing at 600 bytes, as long as decoding at 1,500

_RUN = r'[^"\\\x00-\x1f]*+'
_TEXT = rf'"{_RUN}(?:\\["\\/bfnrt]{_RUN})*+"'  # without \u, which may be half a character
_WHOLE = "-?(?:0|[1-9][0-9]{0,17}+)"  # within 64 bits
_FLOAT = rf"{_WHOLE}\.[0-9]{{1,17}}+"
_PLAIN = {str: _TEXT, int: _WHOLE, bool: "(?:true|false)", float: _FLOAT, NoneType: "null"}
_ANYTHING = f"(?:{_TEXT}|{_WHOLE}|true|false|null)"


Line = re.Match[bytes]
"""A line in the usual form. Groups: session, time_ms, event (an object of one member), prev."""


def events_of(lines: list[bytes], offset: int) -> Iterator[AuditEvent]:
    """The events of lines, each as `decode.decode_line` gives it, by whichever way is quicker."""
    match = usual_matcher()
    try:
        for line in lines:
            usual = match(line) if len(line) <= MAX_BYTES else None
            if usual is None or not (line.isascii() or is_utf8(line)):
                yield decode_line(line, offset)
            else:
                yield usual_event(usual, offset)
            offset += len(line) + 1
    except UndecodableError as error:
        error.at = offset
        raise


def is_utf8(line: bytes) -> bool:
    """What a line that matched must be, too."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def usual_event(line: Line, offset: int) -> AuditEvent:
    """The event of a line that matched."""
    session, time_ms, event, prev = line.groups()
    ((name, payload),) = orjson.loads(event).items()
    # As `AuditEvent(…)`, in half the time.
    return tuple.__new__(AuditEvent, (offset, session.decode(), int(time_ms), name, payload, 1, prev.decode(), NOTHING))


@cache
def usual_matcher() -> Callable[[bytes], Line | None]:
    """Matches whole lines that are ASCII or UTF-8; made when it is first asked for, which takes 30 ms."""
    events = "|".join(f'"{re.escape(name)}":{_record(kind)}' for name, kind in sorted(PAYLOADS.items()))
    line = (
        rf'\{{"id":0,"session":"([0-9A-Za-z_-]*+)","time_ms":({_WHOLE}),'
        rf'"event":(\{{(?:{events})\}}),"version":1,"prev":"([0-9A-Za-z]*+)"\}}'
    )
    return re.compile(line.encode()).fullmatch


def _record(kind: type[WireRecord]) -> str:
    """An object of a model's fields in order, without those with a default that are left out, but for the first."""
    members = ""
    for name, info in kind.model_fields.items():
        member = f'"{info.alias or name}":{_value(info.annotation)}'
        if not members:
            members = member
        else:
            members += f",{member}" if info.is_required() else f"(?:,{member})?+"
    return rf"\{{{members}\}}"


def _value(kind: Any) -> str:
    if kind is AsFound:
        return _ANYTHING
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, WireRecord):
        return _record(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _value(inner[0])
    if origin is tuple:
        return rf"\[(?:{_value(inner[0])}(?:,{_value(inner[0])})*+)?+\]"
    # Longer ones first: an integer is the beginning of a float. Objects that are not known are not usual.
    choices = sorted((_value(each) for each in inner if not _is_raw(each)), key=len, reverse=True)
    return f"(?:{'|'.join(choices)})"


def _is_raw(kind: Any) -> bool:
    return get_origin(get_args(kind)[0] if get_origin(kind) is Annotated else kind) is dict
