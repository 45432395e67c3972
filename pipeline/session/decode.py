"""A line of a log → an event, or why it is none. What decodes is decided here, and nowhere else."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from pipeline.records.audit_event import MAX_ID, MAX_TIME_MS, MAX_VERSION, MIN_TIME_MS, NOTHING, AuditEvent
from pipeline.session.payload_forms import payload_fault

ENVELOPE = ("id", "session", "time_ms", "event", "version", "prev")
_TYPES = (int, str, int, dict, int, str)
_RANGES = {"id": (0, MAX_ID), "time_ms": (MIN_TIME_MS, MAX_TIME_MS), "version": (0, MAX_VERSION)}

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


class UndecodableError(Exception):
    """A whole line that is no event. The text says why."""

    at = 0
    """Offset of the line; 0: whoever asked knows it."""


def decode_line(line: bytes, offset: int) -> AuditEvent:
    """The event of a line.

    Args:
        line: its bytes without the line feed.
        offset: of its first byte in the file, which is the event's id.

    Raises:
        UndecodableError: no JSON, or no event: a member that is required is missing or of another type, `event` has
            not exactly one member, a known payload lacks a field or has one of another type, a key stands twice.
    """
    try:
        value = orjson.loads(line)
    except ValueError as error:
        raise UndecodableError(f"is not JSON ({error})") from None
    extra = NOTHING
    if type(value) is dict and (*value,) == ENVELOPE:
        ident, session, time_ms, event, version, prev = value.values()
    else:
        ident, session, time_ms, event, version, prev = _members(value)
        extra = {key: member for key, member in value.items() if key not in ENVELOPE} or NOTHING
    if not (
        type(ident) is type(time_ms) is type(version) is int
        and type(session) is type(prev) is str
        and type(event) is dict
        and len(event) == 1
        and 0 <= ident <= MAX_ID
        and MIN_TIME_MS <= time_ms <= MAX_TIME_MS
        and 0 <= version <= MAX_VERSION
    ):
        raise UndecodableError(_envelope_fault((ident, session, time_ms, event, version, prev)))
    ((name, payload),) = event.items()
    if fault := payload_fault(name, payload):
        raise UndecodableError(fault)
    if not _is_same(line, value):
        exact = _as_written(line, value)
        payload = exact["event"][name]
        extra = {key: exact[key] for key in extra} or NOTHING
    # As `AuditEvent(…)`, in half the time.
    return tuple.__new__(AuditEvent, (offset, session, time_ms, name, payload, version, prev, extra))


def _members(value: Any) -> tuple[Any, ...]:
    if type(value) is not dict:
        raise UndecodableError(f"is {_kind(value)}, expected an object")
    for key in ENVELOPE[:4]:
        if key not in value:
            raise UndecodableError(f"{key} is missing")
    return (*(value[key] for key in ENVELOPE[:4]), value.get("version", 1), value.get("prev", ""))


def _envelope_fault(members: tuple[Any, ...]) -> str:
    """What is wrong with one of the members, which are in the order of `ENVELOPE`."""
    for key, member, kind in zip(ENVELOPE, members, _TYPES, strict=True):
        if kind is int:
            least, most = _RANGES[key]
            if type(member) is not int or not least <= member <= most:
                found = member if type(member) in (int, float) else _kind(member)
                return f"{key} is {found}, expected a whole number from {least} to {most}"
        elif type(member) is not kind:
            return f"{key} is {_kind(member)}, expected {_KINDS[kind]}"
    return f"event has {len(members[3])} members, expected exactly one"


def _is_same(line: bytes, value: Any) -> bool:
    """Whether nothing was lost by parsing, for writing gives the same line."""
    try:
        return orjson.dumps(value) == line
    except TypeError:  # deeper than it writes, by less than it reads
        return False


def _as_written(line: bytes, value: Any) -> Any:
    """What a line says, with whole numbers beyond 64 bits as they are; orjson makes floats of them."""
    if _STRING.sub(b"", line).count(b":") != _count_keys(value):
        raise UndecodableError("a key stands twice in one object")
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # a number of thousands of digits, or hundreds of levels
        return value


def _count_keys(value: Any) -> int:
    """Of all objects in a value. Without recursion: a line may be a thousand levels deep."""
    n_keys, left = 0, [value]
    while left:
        each = left.pop()
        if type(each) is dict:
            n_keys += len(each)
            left.extend(each.values())
        elif type(each) is list:
            left.extend(each)
    return n_keys


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "null")
