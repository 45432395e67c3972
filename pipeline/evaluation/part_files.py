"""The files of one part, written as its rows come: what is held at once does not grow with the part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pyarrow as pa

from pipeline.evaluation.partitions import check_partition_count, rows_by_folder
from pipeline.records.plan import DataFile
from pipeline.store import ParquetWriter, fitting_rows

MAX_FILE_BYTES = 64 << 20  # of values: a file is never larger but for one row, whatever zstd makes of it


class WrittenFiles(NamedTuple):
    """What a part left behind on the local disk."""

    files: tuple[DataFile, ...]
    paths: dict[str, Path]
    """The local file of each of `files`, by its path."""


class PartFiles:
    """Takes the rows of a part in order. Where files begin and end depends on the rows alone, not on how they came."""

    def __init__(self, schema: pa.Schema, folder: Path, partition_by: Sequence[str], held_bytes: int) -> None:
        """Nothing is written yet.

        Args:
            folder: a local one that is there and empty.
            held_bytes: of partitioned rows in memory; what is more waits in a file of its own, as each folder's rows
                are scattered over the part.
        """
        self._writer = _Writer(schema, folder)
        self._partition_by = partition_by
        self._folders: dict[str, list[int | pa.Table]] = {}
        """By folder, in the order of their first rows: tables in memory, and numbers of those that were put aside."""
        self._aside = _Aside(schema, folder / "rows.arrow")
        self._held, self._held_bytes = 0, held_bytes

    def add(self, rows: pa.Table) -> None:
        """Take the next rows.

        Raises:
            InputError: more partitions than allowed, or a value that can name no folder.
        """
        if not self._partition_by:
            self._writer.write(rows)
            return
        for folder, members in rows_by_folder(rows, self._partition_by):
            self._folders.setdefault(folder, []).append(members)
        check_partition_count(len(self._folders), self._partition_by)
        self._held += rows.nbytes
        if self._held > self._held_bytes:
            self._put_aside()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._writer.abandon()
        self._aside.close()

    def close(self) -> WrittenFiles:
        """Finish the files."""
        files = []
        if not self._partition_by:
            files += self._writer.finish("")
        for folder in list(self._folders):
            for rows in self._rows_of(folder):
                self._writer.write(rows)
            files += self._writer.finish(folder)
        return WrittenFiles(tuple(file for file, _ in files), {file.path: local for file, local in files})

    def _put_aside(self) -> None:
        for tables in self._folders.values():
            tables[:] = [table if isinstance(table, int) else self._aside.put(table) for table in tables]
        self._held = 0

    def _rows_of(self, folder: str) -> Iterator[pa.Table]:
        for table in self._folders.pop(folder):
            yield self._aside.get(table) if isinstance(table, int) else table


class _Writer:
    """Writes the rows of one folder after the other, each into files of bounded size."""

    def __init__(self, schema: pa.Schema, folder: Path) -> None:
        self._schema, self._folder = schema, folder
        self._number = self._bytes = 0
        self._file: ParquetWriter | None = None
        self._done: list[tuple[str, int, int]] = []

    def write(self, rows: pa.Table) -> None:
        while rows.num_rows:
            if self._file is None:
                self._bytes = 0
                self._file = ParquetWriter(self._local(self._number), self._schema)
            fit, n_bytes = fitting_rows(rows, MAX_FILE_BYTES - self._bytes)
            if fit == 0 and self._bytes == 0:
                fit, n_bytes = 1, MAX_FILE_BYTES
            self._file.write(rows.slice(0, fit))
            self._bytes += n_bytes
            rows = rows.slice(fit)
            if rows.num_rows:
                self._end_file()

    def finish(self, folder: str) -> list[tuple[DataFile, Path]]:
        """The files since the last call, as those of a folder."""
        self._end_file()
        found = []
        numbers = range(self._number - len(self._done), self._number)
        for (sha256, n_bytes, rows), number in zip(self._done, numbers, strict=True):
            path = f"data/{folder}/{sha256}.parquet" if folder else f"data/{sha256}.parquet"
            found.append((DataFile(path=path, sha256=sha256, bytes=n_bytes, rows=rows), self._local(number)))
        self._done = []
        return found

    def abandon(self) -> None:
        """Close a file that was not finished."""
        if self._file is not None:
            self._file.abandon()

    def _end_file(self) -> None:
        if self._file is not None:
            self._done.append(self._file.close())
            self._file = None
            self._number += 1

    def _local(self, number: int) -> Path:
        return self._folder / f"{number}.parquet"


class _Aside:
    """Tables in a local file, written first and read afterwards."""

    def __init__(self, schema: pa.Schema, path: Path) -> None:
        self._schema, self._path = schema, path
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self._reader: pa.ipc.RecordBatchFileReader | None = None
        self._file: pa.NativeFile | None = None
        self._n = 0

    def put(self, table: pa.Table) -> int:
        """Write a table; its number."""
        self._writer = self._writer or pa.ipc.new_file(str(self._path), self._schema)
        (batch,) = table.combine_chunks().to_batches()
        self._writer.write_batch(batch)
        self._n += 1
        return self._n - 1

    def get(self, number: int) -> pa.Table:
        """Read a table. Nothing can be put any more."""
        if self._reader is None:
            assert self._writer is not None, "what has a number was put"
            self._writer.close()
            self._file = pa.OSFile(str(self._path))
            # Not mapped: pages of a mapped file count as memory of this process.
            self._reader = pa.ipc.open_file(self._file)
        return pa.Table.from_batches([self._reader.get_batch(number)])

    def close(self) -> None:
        """Close the file."""
        for opened in (self._writer, self._file):
            if opened is not None:
                opened.close()
