"""Tables in memory: Arrow, dataframes of any library, and a mapping of column name to values.

Dataframes come in by `to_arrow()`, else the Arrow C stream, else the interchange protocol. A pandas index without a
name is not data; one with a name is a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.interchange import from_dataframe

from pipeline.errors import DatasetError
from pipeline.store.sources.rows import Block, RowTyper, to_array
from pipeline.store.sources.source import Progress, Source, Span
from pipeline.store.sources.storable import conform, storable_schema

_ROWS_PER_TABLE = 65_536
_ENTRANCES = ("to_arrow", "__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")


def is_frame(data: object) -> bool:
    """Whether `data` says that it can be had as an Arrow table."""
    return any(hasattr(data, entrance) for entrance in _ENTRANCES)


def open_frame(data: Any, progress: Progress) -> Source:
    """A dataframe or Arrow object as a source.

    Raises:
        DatasetError: it cannot be converted.
        TypeError: it is one column only.
    """
    what = f"the {type(data).__name__}"
    kind = "arrow" if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader) else type(data).__name__
    try:
        opened = _to_arrow(data)
    except (pa.ArrowException, ValueError, NotImplementedError) as error:
        raise DatasetError(f"{what} cannot be converted to an Arrow table: {', '.join(map(str, error.args))}") from None
    kept = _columns_without_index(opened.schema)
    schema = storable_schema(pa.schema([opened.schema.field(i) for i in kept]), what)
    span = progress.expect(opened.nbytes if isinstance(opened, pa.Table) else 0)

    def tables() -> Iterator[pa.Table]:
        for table in _pieces(opened, span, what):
            yield conform(table.select(kept), schema, what)

    return Source(schema, tables, kind)


def open_columns(data: Mapping[Any, Any], given: Mapping[str, pa.DataType], progress: Progress) -> Source:
    """A mapping of column name to values as a source.

    Raises:
        DatasetError: columns of different lengths, a mixture of types, no columns.
    """
    columns = {name: _column(name, values, given.get(name)) for name, values in data.items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        found = ", ".join(f"{name!r} {len(column)}" for name, column in columns.items())
        raise DatasetError(f"the columns differ in their number of values ({found}); all need the same number")
    source = open_frame(pa.table(list(columns.values()), names=list(columns)), progress)
    return Source(source.schema, source.tables, "columns")


def _to_arrow(data: Any) -> pa.Table | pa.RecordBatchReader:
    if isinstance(data, pa.Table | pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "to_arrow"):
        converted = data.to_arrow()
        if isinstance(converted, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
            return _to_arrow(converted)
        raise TypeError(_one_column(data))
    if hasattr(data, "__arrow_c_stream__"):
        if isinstance(data, pa.ChunkedArray) or getattr(data, "ndim", 2) == 1:
            raise TypeError(_one_column(data))
        return pa.RecordBatchReader.from_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        if isinstance(data, pa.Array):
            raise TypeError(_one_column(data))
        return pa.Table.from_batches([pa.record_batch(data)])
    return from_dataframe(data)


def _one_column(data: object) -> str:
    return f"data is a {type(data).__name__}, one column without a name; pass a table, or {{'name': values}}"


def _columns_without_index(schema: pa.Schema) -> list[int]:
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    unnamed = {name for name in index if isinstance(name, str) and name.startswith("__index_level_")}
    return [i for i, name in enumerate(schema.names) if name not in unnamed]


def _pieces(opened: pa.Table | pa.RecordBatchReader, span: Span, what: str) -> Iterator[pa.Table]:
    if isinstance(opened, pa.Table):
        for start in range(0, opened.num_rows, _ROWS_PER_TABLE):
            yield opened.slice(start, _ROWS_PER_TABLE)
            span.reach((start + _ROWS_PER_TABLE) / opened.num_rows)
        return
    try:
        for batch in opened:
            for start in range(0, batch.num_rows, _ROWS_PER_TABLE):
                yield pa.Table.from_batches([batch.slice(start, _ROWS_PER_TABLE)])
            span.grow(batch.nbytes)
    except pa.ArrowException as error:
        raise DatasetError(f"{what} failed while it was read: {error}") from None


def _column(name: Any, values: Any, given: pa.DataType | None) -> pa.Array | pa.ChunkedArray:
    if not isinstance(name, str):
        raise DatasetError(f"the column name {name!r} is no text; use text as keys")
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise DatasetError(f"column {name!r} is a {type(values).__name__}, expected a sequence of values")
    column = _arrow_column(name, values)
    if column is not None:
        return column if given is None else column.cast(given)
    listed = list(values)
    block = Block([{name: value} for value in listed], lambda i: f"row {i}")
    typer = RowTyper({} if given is None else {name: given})
    typer.see(block)
    return to_array(listed, typer.schema().field(0).type if listed else given or pa.null())


def _arrow_column(name: str, values: Any) -> pa.Array | pa.ChunkedArray | None:
    """The column where its library knows its type already; None for plain Python values."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "__arrow_array__"):
            return pa.array(values)
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype != object:
            return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DatasetError(f"column {name!r} cannot be converted to Arrow: {error}") from None
    return None
