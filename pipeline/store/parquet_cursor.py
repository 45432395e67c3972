"""A place in an open Parquet file: reading forward goes through every page once, and never holds a whole row group."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import CorruptError
from pipeline.store.parquet import ROWS_PER_GROUP, iterate_parquet
from pipeline.store.row_bytes import unfolded_bytes

BYTES_PER_TABLE = 32 << 20  # in memory: what one step may hold
_PROBE_ROWS = 128  # read first where the metadata cannot tell what a row weighs: 128 MiB if it weighs a mebibyte


class ParquetCursor:
    """Reads slices of rows. Row groups before a slice are skipped by the metadata, rows before it are decoded."""

    def __init__(
        self,
        file: pq.ParquetFile,
        name: str,
        columns: Sequence[str] | None = None,
        table_bytes: int = BYTES_PER_TABLE,
    ) -> None:
        self._file = file
        self._name = name
        self._columns = columns
        groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        self._starts = list(accumulate(groups, initial=0))
        self._table_bytes = table_bytes
        self._most = rows_per_table(file.metadata, table_bytes)
        self._step = min(self._most, _PROBE_ROWS) if _may_unfold(file.metadata, self._most, table_bytes) else self._most
        self._tables: Iterator[pa.Table] = iter(())
        self._next = self._starts[-1]
        """The row that comes next: the first of `_rest`, else of the next table."""
        self._rest: pa.Table | None = None

    def read(self, first_row: int, rows: int) -> Iterator[pa.Table]:
        """The rows as tables, each decoded when it is asked for.

        Raises:
            CorruptError: a page's checksum differs, or the file has fewer rows.
        """
        group = self._group_of(first_row)
        if first_row < self._next or group > self._group_of(self._next):
            self._tables = self._from(self._starts[group])
            self._next, self._rest = self._starts[group], None
        while self._next < first_row:
            self._take(first_row - self._next)
        while rows:
            table = self._take(rows)
            rows -= table.num_rows
            yield table

    @property
    def metadata(self) -> pq.FileMetaData:
        """What the file says of itself."""
        return self._file.metadata

    def close(self) -> None:
        """Close the file."""
        self._tables, self._rest = iter(()), None
        self._file.close(force=True)

    def _take(self, at_most: int) -> pa.Table:
        table = self._rest if self._rest is not None else self._next_table()
        if table is None:
            raise CorruptError(f"{self._name}: ends after row {self._next}; restore it, or make it again", self._name)
        rows = min(at_most, table.num_rows, self._step)
        self._next += rows
        self._rest = table.slice(rows) if table.num_rows > rows else None
        return table.slice(0, rows)

    def _next_table(self) -> pa.Table | None:
        table = next(self._tables, None)
        if table is not None and table.num_rows:
            weight = max(unfolded_bytes(table), 1)
            fitting = max(1, min(self._most, table.num_rows * self._table_bytes // weight))
            # The size of a step cannot be changed: the row group is begun anew, up to where this table ended.
            if fitting < self._step // 2 or (fitting > self._step == table.num_rows == _PROBE_ROWS):
                self._step = fitting
                self._tables = self._from(self._next + table.num_rows)
        return table

    def _from(self, row: int) -> Iterator[pa.Table]:
        group = self._group_of(row)
        behind = row - self._starts[group]
        for table in iterate_parquet(
            self._file, self._name, columns=self._columns, batch_rows=self._step, first_group=group
        ):
            if behind < table.num_rows:
                yield table.slice(behind)
            behind = max(0, behind - table.num_rows)

    def _group_of(self, row: int) -> int:
        return bisect_right(self._starts, row) - 1


def rows_per_table(metadata: pq.FileMetaData, table_bytes: int = BYTES_PER_TABLE) -> int:
    """Rows to read at once by the file's own account, so that tables of wide rows stay small."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size / group.num_rows for group in groups if group.num_rows), default=1)
    return max(1, min(ROWS_PER_GROUP, int(table_bytes / max(widest, 1))))


def _may_unfold(metadata: pq.FileMetaData, rows: int, table_bytes: int) -> bool:
    """Whether so many rows could take more than `table_bytes`: a dictionary holds a long text once for all its rows."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            is_text = column.physical_type == "BYTE_ARRAY" and column.has_dictionary_page
            if is_text and rows * column.total_uncompressed_size > table_bytes:
                return True
    return False
