"""Reads slices of a revision's rows, wherever its files are. Every file is checked against its digest before use."""

from __future__ import annotations

import hashlib
import io
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import CorruptError, DatasetError, InputError
from pipeline.records.dataset import PartFile, Revision
from pipeline.records.names import nearest
from pipeline.store.parquet import open_parquet
from pipeline.store.parquet_cursor import BYTES_PER_TABLE, ParquetCursor
from pipeline.store.pinned import FileIdentity, check_unchanged, damaged, file_identity, is_pinned
from pipeline.store.row_bytes import RowCutter
from pipeline.store.sources.parquet_file import parquet_file
from pipeline.store.sources.storable import conform
from pipeline.store.store import Store

_FETCH_BYTES = 8 << 20  # of a part of an object store that is too large to be held as a whole


class RevisionReader:
    """One reader for one worker; not for several threads. Keeps its place: reading forward is linear."""

    def __init__(
        self,
        store: Store | None,
        revision: Revision,
        columns: Sequence[str] | None = None,
        *,
        table_bytes: int = BYTES_PER_TABLE,
        verify: bool = True,
    ) -> None:
        """Nothing is opened yet.

        Args:
            store: where the revision's own files are; None where all of them are pinned in place.
            columns: the columns to read, in this order; None for all.
            table_bytes: in memory, about: of what is decoded at once, and of the tables of `steps`.
            verify: check the digest of each file; False for a look at rows of which nothing is kept.

        Raises:
            DatasetError: a column that the revision does not have.
        """
        whole = revision.to_arrow_schema()
        for name in columns or ():
            if name not in whole.names:
                raise DatasetError(f"the dataset has no column {name!r}{nearest(name, whole.names)}")
        self.schema = whole if columns is None else pa.schema([whole.field(name) for name in columns])
        """Of every table that `read` returns."""
        self._store = store
        self._parts = revision.parts
        self._starts = list(accumulate((part.rows for part in revision.parts), initial=0))
        self._columns = None if columns is None else list(columns)
        self._table_bytes = table_bytes
        self._checked: set[int] = set() if verify else set(range(len(revision.parts)))
        self._identities: dict[str, FileIdentity | None] = {}
        """Of each local file, by path, as it was before it was checked."""
        self._open: tuple[int, ParquetCursor] | None = None

    def read(self, first_row: int, rows: int) -> pa.Table:
        """`rows` rows from position `first_row` on.

        Raises:
            ValueError: the revision has fewer rows.
            MissingError, CorruptError: a file is gone, has changed, or is damaged; names it.
        """
        tables = list(self._tables(first_row, rows))
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def steps(self, first_row: int, rows: int) -> Iterator[pa.Table]:
        """The same rows as tables of up to `table_bytes`, cut by the rows alone; a row that is larger comes by itself.

        No more than one of them is held here. Errors as `read`.
        """
        cutter = RowCutter(rows, self._table_bytes)
        for table in self._tables(first_row, rows):
            yield from cutter.add(table)
        yield from cutter.rest()

    def _tables(self, first_row: int, rows: int) -> Iterator[pa.Table]:
        if first_row < 0 or rows < 0 or first_row + rows > self._starts[-1]:
            raise ValueError(
                f"rows {first_row} to {first_row + rows} are asked of a dataset of {self._starts[-1]} rows"
            )
        while rows:
            index = bisect_right(self._starts, first_row) - 1
            count = min(rows, self._starts[index + 1] - first_row)
            yield from self._read_part(index, first_row - self._starts[index], count)
            first_row += count
            rows -= count

    def metadata(self, index: int) -> pq.FileMetaData:
        """What a file says of itself; it is opened, and checked against its digest before. Errors as `read`."""
        return self._opened(index).metadata

    def close(self) -> None:
        """Close the file that is open."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read_part(self, index: int, first_row: int, rows: int) -> Iterator[pa.Table]:
        part = self._parts[index]
        for table in self._opened(index).read(first_row, rows):
            self._check_meanwhile(part)
            yield conform(table.select(self.schema.names), self.schema, part.path)

    def _opened(self, index: int) -> ParquetCursor:
        if self._open is None or self._open[0] != index:
            self.close()
            part = self._parts[index]
            cursor = ParquetCursor(self._open_part(index, part), part.path, self._columns, self._table_bytes)
            self._open = (index, cursor)
        return self._open[1]

    def _open_part(self, index: int, part: PartFile) -> pq.ParquetFile:
        source = self._source(part, index not in self._checked)
        try:
            file = open_parquet(source, part.path)
        except InputError as error:
            raise CorruptError(str(error), part.path) from None
        if file.metadata.num_rows != part.rows:
            raise CorruptError(f"{part.path}: has {file.metadata.num_rows} rows, expected {part.rows}", part.path)
        self._checked.add(index)
        return file

    def _source(self, part: PartFile, unchecked: bool) -> BinaryIO | Path:
        if is_pinned(part):
            if unchecked:
                self._check(part.path, part)
            return parquet_file(part.path)
        if self._store is None:
            raise DatasetError(f"{part.path}: is in a store, and no store was given; pass store=")
        path = self._store.local_path(part.path)
        if path is None:
            return self._fetched(self._store, part)
        if unchecked:
            self._check(str(path), part)
        return path

    def _check(self, path: str, part: PartFile) -> None:
        self._identities[path] = file_identity(path)
        check_unchanged(path, part)

    def _check_meanwhile(self, part: PartFile) -> None:
        """Refuse rows of a file that changed while it was read: its pages may lack checksums."""
        local = None if is_pinned(part) or self._store is None else self._store.local_path(part.path)
        path = part.path if local is None else str(local)
        if path in self._identities and file_identity(path) != self._identities[path]:
            self._check(path, part)

    def _fetched(self, store: Store, part: PartFile) -> BinaryIO:
        """A part of a store elsewhere: ranges carry no checksum, so it is checked as a whole before its first row."""
        if part.bytes <= self._table_bytes:
            return io.BytesIO(store.read(part.path, sha256=part.sha256))
        file = tempfile.TemporaryFile(prefix="assay-input-")  # noqa: SIM115 - closed with the ParquetFile over it
        try:
            digest = hashlib.sha256()
            for first in range(0, part.bytes, _FETCH_BYTES):
                piece = store.read_range(part.path, first, _FETCH_BYTES)
                digest.update(piece)
                file.write(piece)
            if file.tell() != part.bytes or digest.hexdigest() != part.sha256:
                raise damaged(part.path, part)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return cast(BinaryIO, file)
