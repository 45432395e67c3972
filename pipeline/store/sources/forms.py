"""Which form of data this is: the one door to all sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa

from pipeline.errors import DatasetError, InputError
from pipeline.store.sources.column_types import check_given
from pipeline.store.sources.files import open_files
from pipeline.store.sources.frames import is_frame, open_columns, open_frame
from pipeline.store.sources.rows import RowTyper, row_blocks, to_table
from pipeline.store.sources.source import Progress, Source, SourceOptions
from pipeline.store.sources.storable import storable_schema

ACCEPTED = (
    "a path, glob or URL of CSV, JSON Lines or Parquet, several of them, an Arrow table or dataframe, "
    "{column: values}, or a list of row mappings"
)


def open_source(data: Any, progress: Progress | None = None, options: SourceOptions | None = None) -> Source:
    """`data` as a schema and a stream of tables. Text is read once here already, to find its types.

    Raises:
        DatasetError: data that cannot be stored as it is: names the file, line or row, and column.
        TypeError: no form that is known.
    """
    progress, options = progress or Progress(), options or SourceOptions()
    if isinstance(data, str | os.PathLike):
        return open_files([data], progress, options)
    if isinstance(data, Mapping):
        check_given(options.column_types, data, "the mapping")
        return open_columns(data, options.column_types, progress)
    if is_frame(data):
        if options.column_types:
            raise InputError(f"column_types is for CSV, JSON Lines and rows; cast the {type(data).__name__} instead")
        return open_frame(data, progress)
    if isinstance(data, bytes | bytearray | memoryview) or not isinstance(data, Iterable):
        raise TypeError(f"data is a {type(data).__name__}{_lazy_hint(data)}; expected {ACCEPTED}")
    return _open_iterable(data, progress, options)


def _open_iterable(data: Iterable[Any], progress: Progress, options: SourceOptions) -> Source:
    ordered = sorted(data, key=str) if isinstance(data, set | frozenset) else data
    items = iter(ordered)
    first = next(items, None)
    if first is None:
        raise DatasetError("no files and no rows: the data is empty; pass at least one")
    if isinstance(first, str | os.PathLike):
        return open_files(_paths(chain([first], items)), progress, options)
    if not isinstance(first, Mapping):
        raise TypeError(f"data holds {type(first).__name__} values; expected {ACCEPTED}")
    if isinstance(data, Iterator):
        raise TypeError("data is an iterator of rows, which can be read only once; pass list(rows)")
    return _open_rows(data, progress, options)


def _paths(items: Iterable[Any]) -> Iterator[str | os.PathLike[str]]:
    for position, item in enumerate(items):
        if not isinstance(item, str | os.PathLike):
            raise TypeError(f"item {position} is a {type(item).__name__}, but those before are paths; pass paths only")
        yield item


def _open_rows(rows: Iterable[Mapping[str, Any]], progress: Progress, options: SourceOptions) -> Source:
    typer = RowTyper(options.column_types)
    for block in row_blocks(rows):
        typer.see(block)
    found = typer.schema()
    check_given(options.column_types, found.names, "the rows")
    schema = storable_schema(found, "the rows")
    span = progress.expect()

    def tables() -> Iterator[pa.Table]:
        for block in row_blocks(rows):
            table = to_table(block, schema)
            yield table
            span.grow(table.nbytes)

    return Source(schema, tables, "rows")


def _lazy_hint(data: object) -> str:
    return " (call .collect() first)" if hasattr(data, "collect") else ""
