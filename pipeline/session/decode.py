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

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


class UndecodableError(Exception):
    """A whole line that is no event. The text says why."""


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
    _check_envelope(value)
    ((name, payload),) = value["event"].items()
    if fault := payload_fault(name, payload):
        raise UndecodableError(fault)
    if not _is_same(line, value):
        value = _as_written(line, value)
        payload = value["event"][name]
    extra = NOTHING
    if (*value,) != ENVELOPE:
        extra = {key: member for key, member in value.items() if key not in ENVELOPE} or NOTHING
    version, prev = value.get("version", 1), value.get("prev", "")
    return AuditEvent(offset, value["session"], value["time_ms"], name, payload, version, prev, extra)


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


def _check_envelope(value: Any) -> None:
    if type(value) is not dict:
        raise UndecodableError(f"is {_kind(value)}, expected an object")
    if (*map(type, value.values()),) != _TYPES or (*value,) != ENVELOPE:
        _check_members(value)
    _check_number("id", value["id"], 0, MAX_ID)
    _check_number("time_ms", value["time_ms"], MIN_TIME_MS, MAX_TIME_MS)
    _check_number("version", value.get("version", 1), 0, MAX_VERSION)
    if len(value["event"]) != 1:
        raise UndecodableError(f"event has {len(value['event'])} members, expected exactly one")


def _check_members(value: dict[str, Any]) -> None:
    for key, kind in zip(ENVELOPE, _TYPES, strict=True):
        if key in value:
            if kind is not int and type(value[key]) is not kind:
                raise UndecodableError(f"{key} is {_kind(value[key])}, expected {_KINDS[kind]}")
        elif key in ENVELOPE[:4]:
            raise UndecodableError(f"{key} is missing")


def _check_number(key: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        found = value if type(value) in (int, float) else _kind(value)
        raise UndecodableError(f"{key} is {found}, expected a whole number from {least} to {most}")


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
