"""Whether a payload is what its name asks for; asked of a form that was judged before, it costs next to nothing.

A form is the names of members and the types of values. Nothing else decides whether a payload decodes
(`records.audit_wire.WireRecord`), so one of a form that did needs no model to be made of it.
"""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import ValidationError

from pipeline.records.audit_event import PAYLOADS
from pipeline.records.audit_wire import WireRecord

_MAX_FORMS = 4096  # a log has some dozens; one made to have more costs time, not memory
_MAX_MEMBERS = 256
_decodable: set[tuple[Any, ...]] = set()


def payload_fault(name: str, payload: Any) -> str:
    """Why a payload of parsed JSON (whole numbers beyond 64 bits are floats) does not decode; empty: it does."""
    nested = _NESTED.get(name)
    if nested is None:
        return ""
    form: tuple[Any, ...] = ()
    if type(payload) is dict and len(payload) <= _MAX_MEMBERS:
        form = (name, *payload, *map(type, payload.values()))
        if nested:
            form += (*[_inner_form(payload.get(field)) for field in nested],)
        if form in _decodable:
            return ""
    return _judge(name, payload, form)


def _judge(name: str, payload: Any, form: tuple[Any, ...]) -> str:
    try:
        PAYLOADS[name].from_wire(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in (name, *first["loc"]) if part != "")
        return f"{field}: {first['msg'].removeprefix('Value error, ').lower()}"
    if form:
        if len(_decodable) >= _MAX_FORMS:
            _decodable.clear()
        _decodable.add(form)
    return ""


def _inner_form(value: Any) -> Any:
    """Of a field of a payload: what is in a list of objects, and in objects of these. No model looks deeper."""
    kind = type(value)
    if kind is list:
        forms = [_object_form(each) if type(each) is dict else type(each) for each in value]
        return forms[0] if len(forms) == 1 else frozenset(forms)
    return _object_form(value) if kind is dict else kind


def _object_form(value: dict[str, Any]) -> tuple[Any, ...]:
    types = (*map(type, value.values()),)
    if dict in types:
        inner = [(*each, *map(type, each.values())) for each in value.values() if type(each) is dict]
        return (*value, *types, *inner)
    return (*value, *types)


def _is_nested(kind: Any) -> bool:
    """Whether more than the type of a field's value decides: it is a list, an object, or one of several objects."""
    if isinstance(kind, type) and get_origin(kind) is None:
        return issubclass(kind, WireRecord)
    return get_origin(kind) is tuple or any(_is_nested(each) for each in get_args(kind))


_NESTED = {
    name: tuple(info.alias or field for field, info in kind.model_fields.items() if _is_nested(info.annotation))
    for name, kind in PAYLOADS.items()
}
"""The fields of each known event whose values must be looked into."""
