"""A place in an open Parquet file: reading forward goes through every page once, and never holds a whole row group."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import CorruptError
from pipeline.store.parquet import ROWS_PER_GROUP, iterate_parquet

_BYTES_PER_TABLE = 32 << 20  # of values, by the file's own metadata: what one step may hold


class ParquetCursor:
    """Reads slices of rows. Row groups before a slice are skipped by the metadata, rows before it are decoded."""

    def __init__(self, file: pq.ParquetFile, name: str, columns: Sequence[str] | None = None) -> None:
        self._file = file
        self._name = name
        self._columns = columns
        groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        self._starts = list(accumulate(groups, initial=0))
        self._step = rows_per_table(file.metadata)
        self._tables: Iterator[pa.Table] = iter(())
        self._next = self._starts[-1]
        """The row that comes next: the first of `_rest`, else of the next table."""
        self._rest: pa.Table | None = None

    def read(self, first_row: int, rows: int) -> list[pa.Table]:
        """The rows as tables.

        Raises:
            CorruptError: a page's checksum differs, or the file has fewer rows.
        """
        group = self._group_of(first_row)
        if first_row < self._next or group > self._group_of(self._next):
            self._tables = iterate_parquet(
                self._file, self._name, columns=self._columns, batch_rows=self._step, first_group=group
            )
            self._next, self._rest = self._starts[group], None
        while self._next < first_row:
            self._take(first_row - self._next)
        tables = []
        while rows:
            tables.append(self._take(rows))
            rows -= tables[-1].num_rows
        return tables

    def close(self) -> None:
        """Close the file."""
        self._tables, self._rest = iter(()), None
        self._file.close(force=True)

    def _take(self, at_most: int) -> pa.Table:
        table = self._rest if self._rest is not None else next(self._tables, None)
        if table is None:
            raise CorruptError(f"{self._name}: ends after row {self._next}; restore it, or make it again", self._name)
        self._next += min(at_most, table.num_rows)
        self._rest = table.slice(at_most) if table.num_rows > at_most else None
        return table.slice(0, at_most)

    def _group_of(self, row: int) -> int:
        return bisect_right(self._starts, row) - 1


def rows_per_table(metadata: pq.FileMetaData) -> int:
    """Rows to read at once, so that tables of wide rows stay small."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size / group.num_rows for group in groups if group.num_rows), default=1)
    return max(1, min(ROWS_PER_GROUP, int(_BYTES_PER_TABLE / max(widest, 1))))
