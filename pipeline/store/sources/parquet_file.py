"""One Parquet file as a source, streamed row group by row group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from pipeline.errors import CorruptError, DatasetError, InputError
from pipeline.store.location import split_url, without_credentials
from pipeline.store.open_url import open_input
from pipeline.store.parquet import iterate_parquet, open_parquet
from pipeline.store.parquet_cursor import rows_per_table
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
    try:
        file = open_parquet(parquet_file(path), what)
        schema = storable_schema(file.schema_arrow, what)
    except InputError as error:
        raise DatasetError(str(error)) from None

    def tables() -> Iterator[pa.Table]:
        n_rows = done = 0
        try:
            n_rows = file.metadata.num_rows
            for table in iterate_parquet(file, what, batch_rows=rows_per_table(file.metadata)):
                yield conform(table, schema, what)
                done += table.num_rows
                span.reach(done / n_rows)
        except CorruptError as error:
            raise DatasetError(str(error)) from None
        finally:
            file.close(force=True)

    return Source(schema, tables, "parquet", what)


def parquet_file(path: str) -> BinaryIO | Path:
    """What pyarrow reads best: the path of a local file, else a seekable reader."""
    scheme, rest = split_url(path)
    return Path(rest).expanduser() if scheme == "file" else open_input(path)
