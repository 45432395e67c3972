"""Which schemas can be stored, and how a table is brought into one.

A stored column reads back with exactly its type. So types that Parquet or pyarrow would change on the way are stored
as the type they stand for: dictionaries (categories) and run ends as their values, views as plain text or bytes,
extension types as their storage. All other types are kept.
"""

from __future__ import annotations

import io
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import DatasetError
from pipeline.store.sources.column_types import is_text

_BYTES_OF = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}


def storable_schema(schema: pa.Schema, what: str) -> pa.Schema:
    """The schema under which rows of `schema` are stored: plain types, no metadata.

    Args:
        what: the file or object, for messages.

    Raises:
        DatasetError: no columns, a blank or repeated name, or a type that Parquet cannot hold.
    """
    check_names(schema.names, what)
    fields = [_plain_field(field) for field in schema]
    for field in schema:
        _check_views(field, what)
    if not _is_writable(fields):
        for field in fields:
            _check_writable(field, what)
    return pa.schema(fields)


def check_names(names: list[str], what: str) -> None:
    """Raise DatasetError unless there are columns, each with a name of its own."""
    if not names:
        raise DatasetError(f"{what}: has no columns; a dataset needs at least one")
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DatasetError(f"{what}: column {position} of {len(names)} has an empty name; give it one")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        places = [str(position) for position, name in enumerate(names, start=1) if name == repeated[0]]
        raise DatasetError(
            f"{what}: columns {' and '.join(places)} are both named {repeated[0]!r}; each needs a name of its own"
        )


def conform(table: pa.Table, schema: pa.Schema, what: str) -> pa.Table:
    """The columns of `table`, in their order, under the names and types of a storable `schema`.

    Raises:
        DatasetError: a column has other values than its type allows.
    """
    columns = []
    for field, column in zip(schema, table.columns, strict=True):
        if isinstance(column.type, pa.BaseExtensionType):
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
        if _is_list_view(column.type):
            column = pa.chunked_array([_as_list(chunk) for chunk in column.chunks or [pa.array([], column.type)]])
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DatasetError(f"{what}: column {field.name!r} is {column.type}, not {field.type} ({error})") from None
        if is_text(field.type):
            _check_text(columns[-1], field.name, what)
        if not field.nullable and column.null_count:
            raise DatasetError(f"{what}: column {field.name!r} holds nulls, but its schema allows none")
    return pa.Table.from_arrays(columns, schema=schema)


def _plain_field(field: pa.Field, name: str | None = None) -> pa.Field:
    return pa.field(field.name if name is None else name, _plain(field.type), field.nullable)


def _plain(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _plain(kind.value_type)
    if kind == pa.string_view():
        return pa.string()
    if kind == pa.binary_view():
        return pa.binary()
    return _plain_nested(kind) if pa.types.is_nested(kind) else kind


def _plain_nested(kind: pa.DataType) -> pa.DataType:
    # Names of list items differ between libraries ("item", "element") and would make other bytes of the same rows.
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field, "key"), _plain_field(kind.item_field, "value"), kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field, "element"), kind.list_size)
    if pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind):
        return pa.large_list(_plain_field(kind.value_field, "element"))
    if pa.types.is_list(kind) or pa.types.is_list_view(kind):
        return pa.list_(_plain_field(kind.value_field, "element"))
    return kind


def _check_text(column: pa.ChunkedArray, name: str, what: str) -> None:
    """Refuse bytes that are called text and are none: every scorer and every reader of the result would stumble."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        bad = next(
            value for chunk in column.chunks for value in chunk.cast(_BYTES_OF[column.type]) if not _is_utf8(value)
        )
        raise DatasetError(
            f"{what}: column {name!r} is text, but holds a value that is not UTF-8: {bad.as_py()[:20]!r}; "
            "mend it, or make it a column of bytes"
        ) from None


def _is_utf8(value: pa.Scalar) -> bool:
    try:
        (value.as_py() or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _as_list(views: pa.Array) -> pa.Array:
    """Views as lists. Arrow's own cast leaves the last offset out (26.0): what it makes is not valid."""
    lengths = pc.fill_null(pc.list_value_length(views), 0)
    is_large = pa.types.is_large_list_view(views.type)
    offsets = pa.concat_arrays([pa.array([0], lengths.type), pc.cumulative_sum(lengths)])
    made = pa.LargeListArray if is_large else pa.ListArray
    return made.from_arrays(offsets, views.flatten(), mask=views.is_null())


def _check_views(field: pa.Field, what: str) -> None:
    """Refuse views of lists inside of other types."""
    inside = [field.type.field(i).type for i in range(field.type.num_fields)]
    while inside:
        kind = inside.pop()
        if _is_list_view(kind):
            raise DatasetError(
                f"{what}: column {field.name!r} is {field.type}, with views of lists inside; cast it to lists "
                "(pyarrow: list_) or leave it out"
            )
        inside += [kind.field(i).type for i in range(kind.num_fields)]


def _check_writable(field: pa.Field, what: str) -> None:
    if not _is_writable([field]):
        raise DatasetError(
            f"{what}: column {field.name!r} is {field.type}, which Parquet cannot hold; "
            "convert it (for example to text) or leave it out"
        )


def _is_writable(fields: list[pa.Field]) -> bool:
    try:
        pq.write_table(pa.schema(fields).empty_table(), io.BytesIO())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True
