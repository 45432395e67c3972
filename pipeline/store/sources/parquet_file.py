"""One Parquet file as a source, streamed row group by row group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import CorruptError, DatasetError, InputError
from pipeline.store.location import split_url, without_credentials
from pipeline.store.open_url import open_input
from pipeline.store.parquet import open_parquet
from pipeline.store.parquet_cursor import ParquetCursor
from pipeline.store.sources.source import Source, SourceOptions, Span
from pipeline.store.sources.storable import conform, storable_schema


def open_parquet_source(path: str, span: Span, options: SourceOptions) -> Source:
    """A Parquet file as a source.

    Raises:
        DatasetError: cut short, damaged, or columns that cannot be stored.
    """
    what = without_credentials(path)
    if options.column_types:
        raise InputError(f"{what}: column_types is for CSV, JSON Lines and rows; Parquet has types of its own")
    # Opened again for its rows: thousands of files cannot all be open at once.
    with _open(path, what) as file:
        schema = storable_schema(file.schema_arrow, what)

    def tables() -> Iterator[pa.Table]:
        done = 0
        with _open(path, what) as file:
            rows = file.metadata.num_rows
            try:
                for table in ParquetCursor(file, what).read(0, rows) if rows else ():
                    yield conform(table, schema, what)
                    done += table.num_rows
                    span.reach(done / rows)
            except CorruptError as error:
                raise DatasetError(str(error)) from None

    return Source(schema, tables, "parquet", what)


def parquet_file(path: str) -> BinaryIO | Path:
    """What pyarrow reads best: the path of a local file, else a seekable reader."""
    scheme, rest = split_url(path)
    return Path(rest).expanduser() if scheme == "file" else open_input(path)


def _open(path: str, what: str) -> pq.ParquetFile:
    try:
        return open_parquet(parquet_file(path), what)
    except InputError as error:
        raise DatasetError(str(error)) from None
