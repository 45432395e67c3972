"""The fields of classes that become structs: dataclass, pydantic, NamedTuple, TypedDict, attrs."""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel


class StructField(NamedTuple):
    """One field of a class."""

    name: str
    annotation: Any
    required: bool


def struct_fields(cls: Any, names: Mapping[str, Any]) -> list[StructField] | None:
    """The fields of `cls` in their order; None if `cls` is not a class of fields."""
    if not isinstance(cls, type):
        return None
    if issubclass(cls, BaseModel):
        return [StructField(name, info.annotation, info.is_required()) for name, info in cls.model_fields.items()]
    if typing.is_typeddict(cls):
        return _typed_dict(cls, names)
    listed = _listed(cls)
    if listed is None:
        return None
    hints = class_hints(cls, names)
    return [StructField(name, hints[name], required) for name, required in listed]


def class_hints(cls: type, names: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations of a class, resolved in its module and in `names`."""
    module = sys.modules.get(cls.__module__)
    known = {**(vars(module) if module else {}), **names}
    return typing.get_type_hints(cls, localns=known, include_extras=True)


def _listed(cls: Any) -> list[tuple[str, bool]] | None:
    if dataclasses.is_dataclass(cls):
        return [(entry.name, _has_no_default(entry)) for entry in dataclasses.fields(cls) if entry.init]
    if issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "__annotations__"):
        return [(name, name not in cls._field_defaults) for name in cls._fields]
    if hasattr(cls, "__attrs_attrs__"):
        return [(entry.name, "NOTHING" in repr(entry.default)) for entry in cls.__attrs_attrs__]
    return None


def _has_no_default(entry: dataclasses.Field[Any]) -> bool:
    return entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING


def _typed_dict(cls: Any, names: Mapping[str, Any]) -> list[StructField]:
    fields = []
    for name, annotation in class_hints(cls, names).items():
        required = name in cls.__required_keys__
        if get_origin(annotation) in (typing.Required, typing.NotRequired):
            required = get_origin(annotation) is typing.Required
            annotation = get_args(annotation)[0]
        fields.append(StructField(name, annotation, required))
    return fields
