"""Whether a payload is what its name asks for; asked of a form that was judged before, it costs next to nothing.

A form is the names of members and the types of values. Nothing else decides whether a payload decodes
(`records.audit_wire.WireRecord`), so one of a form that did needs no model to be made of it.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from pipeline.records.audit_event import PAYLOADS

_MAX_FORMS = 4096  # a log has some dozens; one made to have more costs time, not memory
_MAX_MEMBERS = 256
_MAX_LEVELS = (
    3  # below a payload: a list, its parts, what is in them; what lies deeper is in members that are not known
)
_decodable: set[tuple[Any, ...]] = set()


def payload_fault(name: str, payload: Any) -> str:
    """Why a payload of parsed JSON (whole numbers beyond 64 bits are floats) does not decode; empty: it does."""
    kind = PAYLOADS.get(name)
    if kind is None:
        return ""
    form = _form(name, payload) if type(payload) is dict and len(payload) <= _MAX_MEMBERS else ()
    if form in _decodable:
        return ""
    try:
        kind.from_wire(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in (name, *first["loc"]) if part != "")
        return f"{field}: {first['msg'].removeprefix('Value error, ').lower()}"
    if form:
        if len(_decodable) >= _MAX_FORMS:
            _decodable.clear()
        _decodable.add(form)
    return ""


def _form(name: str, payload: dict[str, Any]) -> tuple[Any, ...]:
    types = (*map(type, payload.values()),)
    if dict in types or list in types:
        return (name, *payload, *types, *[_inner_form(value, 1) for value in payload.values()])
    return (name, *payload, *types)


def _inner_form(value: Any, level: int) -> Any:
    kind = type(value)
    if kind is list and level <= _MAX_LEVELS:
        return frozenset([_inner_form(each, level + 1) for each in value])
    if kind is dict and level <= _MAX_LEVELS:
        return (*value, *[_inner_form(each, level + 1) for each in value.values()])
    return kind
