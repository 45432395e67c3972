"""Annotations as shapes: what Python value an annotation means, and as which Arrow type it travels."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import types
import typing
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pyarrow as pa

from pipeline.errors import FunctionSignatureError

TEXT = pa.large_string()
SCALARS: dict[Any, tuple[str, pa.DataType]] = {
    str: ("str", TEXT),
    int: ("int", pa.int64()),
    float: ("float", pa.float64()),
    bool: ("bool", pa.bool_()),
    bytes: ("bytes", pa.large_binary()),
    datetime.datetime: ("datetime", pa.timestamp("us", tz="UTC")),
    datetime.date: ("date", pa.date32()),  # not date64: Parquet has days only
    datetime.time: ("time", pa.time64("us")),
    datetime.timedelta: ("timedelta", pa.duration("us")),
    decimal.Decimal: ("decimal", TEXT),
    uuid.UUID: ("uuid", TEXT),
    ipaddress.IPv4Address: ("ipv4", pa.uint32()),
    ipaddress.IPv6Address: ("ipv6", TEXT),
    type(None): ("none", pa.null()),
}
LISTS: tuple[Any, ...] = (list, set, frozenset, tuple)


@dataclass(frozen=True)
class Shape:
    """One annotation, read."""

    kind: str
    """A scalar's kind, or `list`, `map`, `struct`, `enum`, `literal`."""
    arrow: pa.DataType
    python: Any
    """The class that values have."""
    text: str
    """The annotation as text, without `| None`."""
    nullable: bool = False
    items: tuple[Shape, ...] = ()
    """Of a list: its item; of a map: key and value; of a struct: its fields; of an enum or literal: its values."""
    names: tuple[str, ...] = ()
    """Of a struct: its fields' names."""
    optional: frozenset[str] = frozenset()
    """Of a struct: the fields that may be left out."""
    choices: tuple[Any, ...] = ()
    """Of a literal: its values."""

    @property
    def wire(self) -> str:
        """The kind of value that a column must hold: an enum or literal of texts is a `str`."""
        return self.items[0].wire if self.kind in ("enum", "literal") else self.kind

    def classes(self) -> list[Any]:
        """The class of the values, and those of the values inside."""
        return [self.python, *(cls for item in self.items for cls in item.classes())]


def shape_of(annotation: Any, names: Mapping[str, Any] | None = None, inside: tuple[Any, ...] = ()) -> Shape:
    """Read an annotation.

    Args:
        names: where forward references in fields of classes are looked up besides the classes' own module.
        inside: the classes that are being read, outermost first.

    Raises:
        FunctionSignatureError: an annotation that has no Arrow type.
    """
    bare, nullable = split_none(annotation)
    text = annotation_text(bare)
    if bare in inside:
        raise FunctionSignatureError(f"{text} contains itself, which no column type can hold")
    known, within = names or {}, (*inside, bare)
    found = _scalar(bare) or _chosen(bare) or _container(bare, known, within) or _struct(bare, known, within)
    if found is None:
        raise FunctionSignatureError(f"annotation {text} has no column type: {_advice(bare)}")
    return Shape(text=text, nullable=nullable or bare is type(None), **found)


def split_none(annotation: Any) -> tuple[Any, bool]:
    """The annotation without Annotated, NewType, aliases and `| None`, and whether None was admitted."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__") and not isinstance(annotation, type):
            annotation = annotation.__value__
        else:
            break
    if annotation is None:
        return type(None), True
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [member for member in get_args(annotation) if member is not type(None)]
        if len(rest) == 1 and len(rest) < len(get_args(annotation)):
            return split_none(rest[0])[0], True
    return annotation, False


def annotation_text(annotation: Any) -> str:
    """An annotation as its author may have written it: no module names, no addresses."""
    if isinstance(annotation, str):
        return annotation
    if annotation is None or annotation is type(None):
        return "None"
    arguments = get_args(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        return " | ".join(annotation_text(item) for item in arguments)
    name = getattr(annotation, "__qualname__", None) or getattr(annotation, "__name__", None) or str(annotation)
    name = str(name).removeprefix("typing.").rpartition("<locals>.")[2]
    if not arguments:
        return name
    if get_origin(annotation) is Annotated:
        return annotation_text(arguments[0])
    inner = ", ".join("..." if a is ... else repr(a) if _is_value(a) else annotation_text(a) for a in arguments)
    return f"{name.partition('[')[0]}[{inner}]"


def _is_value(argument: Any) -> bool:
    return isinstance(argument, str | int | bytes | enum.Enum)


def _scalar(bare: Any) -> dict[str, Any] | None:
    found = SCALARS.get(bare) if isinstance(bare, type) else None
    return {"kind": found[0], "arrow": found[1], "python": bare} if found else None


def _chosen(bare: Any) -> dict[str, Any] | None:
    if get_origin(bare) is Literal:
        choices = get_args(bare)
        return _of_values("literal", bare, choices, choices)
    if isinstance(bare, type) and issubclass(bare, enum.Enum):
        return _of_values("enum", bare, tuple(member.value for member in bare), ())
    return None


def _of_values(kind: str, bare: Any, values: tuple[Any, ...], choices: tuple[Any, ...]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        raise FunctionSignatureError(f"{annotation_text(bare)} must hold values of one type, and at least one")
    item = shape_of(kinds.pop())
    return {"kind": kind, "arrow": item.arrow, "python": bare, "items": (item,), "choices": choices}


def _container(bare: Any, names: Mapping[str, Any], inside: tuple[Any, ...]) -> dict[str, Any] | None:
    origin, arguments = get_origin(bare), get_args(bare)
    if not arguments:
        return None
    if origin in LISTS and (origin is not tuple or arguments[1:] == (...,)):
        item = shape_of(arguments[0], names, inside)
        return {"kind": "list", "arrow": pa.large_list(item.arrow), "python": origin, "items": (item,)}
    if origin is dict:
        key, value = (shape_of(argument, names, inside) for argument in arguments)
        return {"kind": "map", "arrow": pa.map_(key.arrow, value.arrow), "python": dict, "items": (key, value)}
    return None


def _struct(bare: Any, names: Mapping[str, Any], inside: tuple[Any, ...]) -> dict[str, Any] | None:
    from pipeline.functions.struct_fields import struct_fields

    fields = struct_fields(bare, names)
    if fields is None:
        return None
    if not fields:
        raise FunctionSignatureError(f"{annotation_text(bare)} has no fields, so no column can hold it")
    shapes = tuple(shape_of(field.annotation, names, inside) for field in fields)
    arrow = pa.struct([pa.field(field.name, shape.arrow) for field, shape in zip(fields, shapes, strict=True)])
    return {
        "kind": "struct",
        "arrow": arrow,
        "python": bare,
        "items": shapes,
        "names": tuple(field.name for field in fields),
        "optional": frozenset(field.name for field in fields if not field.required),
    }


def _advice(bare: Any) -> str:
    if bare in (list, tuple, set, frozenset, typing.List):  # noqa: UP006 (what the user may have written)
        return "say of what, such as list[str]"
    if bare in (dict, typing.Dict):  # noqa: UP006
        return "say of what, such as dict[str, float], or use a dataclass or TypedDict"
    if get_origin(bare) in (Union, types.UnionType):
        return "a column has one type; only `T | None` is a union that it can hold"
    if get_origin(bare) is tuple:
        return "use tuple[T, ...], or a NamedTuple or dataclass for fields of different types"
    return (
        "use str, int, float, bool, bytes, a date, list[T], dict[K, V], an Enum, dataclass, TypedDict or pydantic model"
    )
