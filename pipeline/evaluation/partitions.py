"""Result rows to folders: Hive folders by the values of the partition columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import InputError

MAX_PARTITIONS = 1_024
MAX_KEY_NAME = 70  # bytes
MAX_FOLDER_NAME = 180  # bytes: file systems end at 255, and the column's name stands before it
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"  # what every reader of Hive folders takes for null
ALLOWED = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date)


class FolderRows(NamedTuple):
    """Rows that belong into one folder."""

    folder: str
    """`family=algebra/level=3`, or nothing where a result is not partitioned."""
    rows: pa.Table


def check_partition_columns(partition_by: Sequence[str], schema: pa.Schema) -> None:
    """Refuse partition columns that are missing, doubled, or of a type that makes no folder names."""
    for position, name in enumerate(partition_by):
        if name not in schema.names:
            known = ", ".join(schema.names)
            raise InputError(f"partition_by names the column {name!r}, which the dataset does not have; it has {known}")
        if name in partition_by[:position]:
            raise InputError(f"partition_by names the column {name!r} twice")
        if len(_key_name(name).encode()) > MAX_KEY_NAME:
            raise InputError(f"partition_by column {name[:40]!r}… has a name that is too long for a folder")
        kind = schema.field(name).type
        value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not any(test(value_type) for test in ALLOWED):
            raise InputError(
                f"partition_by column {name!r} is {kind}: text, integers, booleans and dates can be folders"
            )


def rows_by_folder(rows: pa.Table, partition_by: Sequence[str]) -> Iterator[FolderRows]:
    """The rows of each folder, in their order; folders in the order in which they first appear.

    Raises:
        InputError: more partitions than allowed, or a value that can name no folder.
    """
    if not partition_by:
        yield FolderRows("", rows)
        return
    names = [str(i) for i in range(len(partition_by))]
    keys = pa.table({key: _as_text(rows[name]) for key, name in zip(names, partition_by, strict=True)})
    position = pa.array(range(rows.num_rows), pa.int64())
    groups = keys.append_column("row", position).group_by(names, use_threads=False).aggregate([("row", "list")])
    check_partition_count(groups.num_rows, partition_by)
    for group in groups.to_pylist():
        folder = _path([group[key] for key in names], partition_by)
        yield FolderRows(folder, rows.take(pa.array(group["row_list"], pa.int64())))


def folders_of(rows: pa.Table, partition_by: Sequence[str]) -> set[str]:
    """The folders into which rows belong. Raises InputError for a value that can name no folder."""
    groups = rows.select(partition_by).group_by(list(partition_by), use_threads=False).aggregate([])
    texts = [_as_text(groups[name]).to_pylist() for name in partition_by]
    return {_path(values, partition_by) for values in zip(*texts, strict=True)}


def check_partition_count(found: int, partition_by: Sequence[str], rows: int | None = None) -> None:
    """Refuse a result of more partitions than a reader can bear.

    Args:
        rows: in how many of the first rows they were found; None: nobody knows.
    """
    if found > MAX_PARTITIONS:
        where = "" if rows is None else f" ({found} in the first {rows} rows alone)"
        raise InputError(
            f"partition_by {', '.join(partition_by)} makes more than {MAX_PARTITIONS} partitions{where}: "
            "choose columns with fewer distinct values"
        )


def _path(values: Sequence[str | None], partition_by: Sequence[str]) -> str:
    return "/".join(
        f"{_key_name(name)}={_folder_name(value)}" for name, value in zip(partition_by, values, strict=True)
    )


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return pc.cast(plain, pa.string())


def _key_name(name: str) -> str:
    """A column's name as readers of Hive folders take it: they decode values, and not names."""
    return re.sub(r"[/=%\\\x00-\x1f]", lambda found: quote(found[0], safe=""), name)


def _folder_name(value: str | None) -> str:
    if value is None:
        return NULL_FOLDER
    name = quote(value, safe=" ")
    if name == NULL_FOLDER:  # the text, which is not null
        name = name.replace("_", "%5F")
    if value.strip(".") == "":  # "." and ".." would leave the folder
        name = name.replace(".", "%2E")
    if len(name) > MAX_FOLDER_NAME:
        raise InputError(f"partition_by: the value {value[:40]!r}… is too long to name a folder")
    return name
