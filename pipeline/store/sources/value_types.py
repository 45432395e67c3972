"""Arrow types of Python values, found over all of them and added up block by block.

One rule: whole numbers and fractions in one column are float64; every other mixture is refused, never guessed.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

_SCALARS: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "bytes": pa.binary(),
}
_KINDS: list[tuple[type | tuple[type, ...], str]] = [
    ((type(None),), "null"),
    ((bool, np.bool_), "bool"),
    ((int, np.integer), "int"),
    ((float, np.floating), "float"),
    (str, "text"),
    ((bytes, bytearray, memoryview), "bytes"),
    (Mapping, "struct"),
    ((list, tuple, np.ndarray), "list"),
    (datetime.datetime, "datetime"),
    (datetime.date, "date"),
]
_KIND_OF: dict[type, str] = {}
_PANDAS_NULLS = ("NAType", "NaTType")  # by name: pandas need not be installed


class MixedTypesError(Exception):
    """Two types that cannot stand in one column. `path` leads into a nested value, "" for the column itself."""

    def __init__(self, first: object, second: object, path: str = "") -> None:
        super().__init__(f"{first} and {second}")
        self.first = first
        self.second = second
        self.path = path

    def under(self, name: str) -> MixedTypesError:
        """The same, seen from one level above."""
        return MixedTypesError(self.first, self.second, name + self.path)


def infer_type(values: Sequence[Any]) -> pa.DataType:
    """The type that holds all values; `pa.null()` where there is none but None.

    Raises:
        MixedTypesError: they do not go together.
        pa.ArrowException, ValueError, TypeError: a class that Arrow does not know.
    """
    kinds = {_kind_of(cls) for cls in set(map(type, values))} - {"null"}
    if not kinds:
        return pa.null()
    if kinds == {"int", "float"}:
        return pa.float64()
    if len(kinds) > 1:
        first, second = sorted(kinds)[:2]
        raise MixedTypesError(first, second)
    (kind,) = kinds
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "struct":
        return _infer_struct([value for value in values if value is not None])
    if kind == "list":
        return pa.list_(_infer_below("[]", list(chain.from_iterable(v for v in values if v is not None))))
    return pa.infer_type(list(values), from_pandas=True)


def merge_types(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """The type that holds what either holds.

    Raises:
        MixedTypesError: there is none.
    """
    if first == second or pa.types.is_null(second):
        return first
    if pa.types.is_null(first):
        return second
    if {first, second} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_struct(first) and pa.types.is_struct(second):
        return _merge_structs(first, second)
    if pa.types.is_list(first) and pa.types.is_list(second):
        return pa.list_(_merge_below("[]", first.value_type, second.value_type))
    if _is_same_family(first, second):
        both = [pa.schema([("x", first)]), pa.schema([("x", second)])]
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    raise MixedTypesError(first, second)


def _kind_of(cls: type) -> str:
    kind = _KIND_OF.get(cls)
    if kind is None:
        null = cls.__name__ in _PANDAS_NULLS
        kind = "null" if null else next((name for classes, name in _KINDS if issubclass(cls, classes)), cls.__name__)
        _KIND_OF[cls] = kind
    return kind


def _infer_struct(values: Sequence[Mapping[str, Any]]) -> pa.DataType:
    fields = []
    for key in dict.fromkeys(chain.from_iterable(values)):
        if not isinstance(key, str):
            raise TypeError(f"the key {key!r} is no text")
        fields.append((key, _infer_below(f".{key}", [value.get(key) for value in values])))
    return pa.struct(fields)


def _infer_below(name: str, values: Sequence[Any]) -> pa.DataType:
    try:
        return infer_type(values)
    except MixedTypesError as error:
        raise error.under(name) from None


def _merge_below(name: str, first: pa.DataType, second: pa.DataType) -> pa.DataType:
    try:
        return merge_types(first, second)
    except MixedTypesError as error:
        raise error.under(name) from None


def _merge_structs(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    fields = {first.field(i).name: first.field(i).type for i in range(first.num_fields)}
    for i in range(second.num_fields):
        name, kind = second.field(i).name, second.field(i).type
        fields[name] = _merge_below(f".{name}", fields[name], kind) if name in fields else kind
    return pa.struct(list(fields.items()))


def _is_same_family(first: pa.DataType, second: pa.DataType) -> bool:
    decimals = pa.types.is_decimal(first) and pa.types.is_decimal(second)
    times = pa.types.is_timestamp(first) and pa.types.is_timestamp(second) and first.tz == second.tz
    return bool(decimals or times)
