"""Types that a user gives for columns: Arrow types, or their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from pipeline.errors import DatasetError, InputError
from pipeline.records.names import nearest

TYPE_NAMES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "text": pa.string(),
    "int64": pa.int64(),
    "int": pa.int64(),
    "float64": pa.float64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us"),
    "date": pa.date32(),
    "binary": pa.binary(),
}
"""Names with their types; every other alias of Arrow (`int32`, `timestamp[ms]`, `date32`) is known too."""


def parse_column_types(column_types: Mapping[str, pa.DataType | str] | None) -> dict[str, pa.DataType]:
    """Arrow types by column.

    Raises:
        InputError: a type name that is not known.
        TypeError: neither an Arrow type nor text.
    """
    return {name: _parse(name, kind) for name, kind in (column_types or {}).items()}


def _parse(name: str, kind: pa.DataType | str) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    if not isinstance(kind, str):
        raise TypeError(f"column_types[{name!r}] is {kind!r}; give an Arrow type such as pa.string(), or its name")
    known = TYPE_NAMES.get(kind.strip().lower())
    if known is not None:
        return known
    try:
        return pa.type_for_alias(kind.strip())
    except ValueError:
        hint = nearest(kind, TYPE_NAMES)
        raise InputError(f"column_types[{name!r}] is {kind!r}, which names no type{hint}") from None


def check_given(given: Iterable[str], columns: Iterable[str], what: str) -> None:
    """Raise DatasetError where a type is given for a column that is not there."""
    known = list(columns)
    for name in given:
        if name not in known:
            raise DatasetError(f"{what}: column_types names {name!r}, which is no column of it{nearest(name, known)}")


def is_text(kind: pa.DataType) -> bool:
    """Whether values of the type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
