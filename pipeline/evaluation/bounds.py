"""What is known of a column in a file or row group without reading it: bounds of its values, and whether it has nulls.

From Parquet statistics and from the names of Hive folders. What is not known for certain is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.evaluation.partitions import NULL_FOLDER


class Bounds(NamedTuple):
    """What is known of a column in some rows."""

    kind: type
    """Of its values: int, float, str, bool or date."""
    least: Any = None
    """No value is less (in the order of UTF-8 bytes for text); None: not known. NaN is not counted."""
    greatest: Any = None
    """No value is greater; None: not known. NaN is not counted."""
    has_values: bool = True
    """False only where every row is known to be null."""
    has_nulls: bool = True
    """False only where no row is known to be null."""


def value_kind(kind: pa.DataType) -> type | None:
    """The Python type of values whose order is the same in SQL, Parquet and Python; None for every other type.

    Left out on purpose: float32 (compared in another width than it is kept in), decimals, times, and nested types.
    """
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_float64(kind):
        return float
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str
    if pa.types.is_boolean(kind):
        return bool
    return date if pa.types.is_date32(kind) else None


def group_bounds(metadata: pq.FileMetaData, group: int, schema: pa.Schema, wanted: Sequence[str]) -> dict[str, Bounds]:
    """Bounds of the columns in a row group, by name; columns of which nothing is known are left out.

    Args:
        metadata: of a file whose digest was checked: a footer has no checksum of its own.
        schema: of the file's columns.
    """
    leaves = [_leaf_count(field.type) for field in schema]
    if sum(leaves) != metadata.num_columns:
        return {}
    found: dict[str, Bounds] = {}
    for position, field in enumerate(schema):
        kind = value_kind(field.type)
        if field.name in wanted and kind is not None:
            column = metadata.row_group(group).column(sum(leaves[:position]))
            if column.path_in_schema == field.name and column.statistics is not None:
                found[field.name] = _of_statistics(column.statistics, kind, metadata.row_group(group).num_rows)
    return found


def folder_bounds(path: str, partition_by: Sequence[str], schema: pa.Schema) -> dict[str, Bounds]:
    """What the Hive folders of a result file say of its partition columns, each of one value.

    Args:
        path: `data/family=algebra/level=3/<digest>.parquet`.
    """
    folders = path.split("/")[-1 - len(partition_by) : -1]
    found: dict[str, Bounds] = {}
    for name, folder in zip(partition_by, folders, strict=True):
        kind, text = value_kind(schema.field(name).type), folder.rpartition("=")[2]
        if kind is None:
            continue
        if text == NULL_FOLDER:
            found[name] = Bounds(kind, has_values=False)
        elif (value := _parsed(unquote(text), kind)) is not None:
            found[name] = Bounds(kind, value, value, has_nulls=False)
    return found


def _of_statistics(statistics: Any, kind: type, n_rows: int) -> Bounds:
    least, greatest = _ends(statistics, kind)
    has_count = statistics.has_null_count
    return Bounds(
        kind,
        least,
        greatest,
        has_values=not has_count or statistics.null_count < n_rows,
        has_nulls=not has_count or statistics.null_count > 0,
    )


def _ends(statistics: Any, kind: type) -> tuple[Any, Any]:
    if not statistics.has_min_max:
        return None, None
    try:
        ends = statistics.min, statistics.max
    except ValueError:  # text that was cut within a character
        return None, None
    return ends if all(type(end) is kind for end in ends) else (None, None)


def _parsed(text: str, kind: type) -> Any:
    """The value that names a folder; None where it is not written as the project writes it."""
    readers: Mapping[type, Any] = {
        str: str, int: int, date: date.fromisoformat, bool: {"true": True, "false": False}.get,
    }  # fmt: skip
    try:
        value = readers[kind](text)
    except (KeyError, ValueError):
        return None
    return value if kind is bool or str(value) == text else None


def _leaf_count(kind: pa.DataType) -> int:
    """How many columns a column takes in a Parquet file."""
    if pa.types.is_struct(kind):
        return sum(_leaf_count(kind.field(i).type) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _leaf_count(kind.key_type) + _leaf_count(kind.item_type)
    return _leaf_count(kind.value_type) if pa.types.is_nested(kind) else 1
