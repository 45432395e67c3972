"""Parquet files as the project writes and reads them: the same table is the same bytes, and damage is never silent.

Fixed writer settings (zstd, page checksums, row groups of a fixed size) make a file's SHA-256 a name for its rows.
Reading verifies page checksums and streams: pyarrow's dataset reader with its defaults holds a whole dataset.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import CorruptError, InputError
from pipeline.store.faults import translate
from pipeline.store.row_bytes import RowCutter, fitting_rows

ROWS_PER_GROUP = 16_384
"""Rows: a reader holds one group at a time, 4 MiB of 280-character rows."""
BYTES_PER_GROUP = 16 << 20
"""Of values: wide rows come in groups of fewer, so that neither writer nor reader holds much, whatever their width."""
_COMPRESSION = {"compression": "zstd", "compression_level": 1}
# Level 1: a part is written once and read a few times; higher levels cost more time than they save.
_FORMAT = {"version": "2.6", "data_page_version": "1.0", "write_page_checksum": True, "store_schema": True}
_WIDE = {"use_dictionary": False, "write_statistics": False}
# Of a file that begins with a row of more than a row group: each would copy the value, and cost ten times the writing.


class WrittenFile(NamedTuple):
    """What was written."""

    sha256: str
    bytes: int
    rows: int


class ParquetWriter:
    """Writes one file, row group by row group, and digests the bytes on their way to the disk."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        with _naming(path):
            self._file = open(path, "xb")  # noqa: SIM115 - closed by `close`
        self._digest = _DigestingFile(self._file)
        self._schema = schema
        self._writer: pq.ParquetWriter | None = None
        self._cutter = RowCutter(ROWS_PER_GROUP, BYTES_PER_GROUP)
        self._rows = 0
        self._closed = False

    def write(self, table: pa.Table) -> None:
        """Add rows. How they are cut into tables does not change the file."""
        for group in self._cutter.add(table):
            self._write_group(group)

    @property
    def bytes_so_far(self) -> int:
        """Bytes on the disk; rows of an unfinished group are not among them."""
        return self._digest.n_bytes

    def close(self) -> WrittenFile:
        """Finish the file."""
        for group in self._cutter.rest():
            self._write_group(group)
        self._opened().close()
        self._closed = True
        self._digest.finish()
        return WrittenFile(self._digest.sha256.hexdigest(), self._digest.n_bytes, self._rows)

    def abandon(self) -> None:
        """Close the file as it is; it is not to be used."""
        if not self._closed:
            self._closed = True
            self._digest.is_abandoned = True
            if self._writer is not None:
                self._writer.close()  # or it would write its end when it is collected, into a closed file
            with contextlib.suppress(OSError):  # what the buffer holds may not fit on the disk
                self._file.close()

    def _write_group(self, group: pa.Table) -> None:
        is_wide = group.num_rows == 1 and fitting_rows(group, BYTES_PER_GROUP)[0] == 0
        # One chunk a column: chunk borders would show in the dictionary pages.
        self._opened(is_wide=is_wide).write_table(group.combine_chunks(), row_group_size=group.num_rows)
        self._rows += group.num_rows

    def _opened(self, *, is_wide: bool = False) -> pq.ParquetWriter:
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._digest, self._schema, **_COMPRESSION, **_FORMAT, **(_WIDE if is_wide else {})
            )
        return self._writer


class _DigestingFile:
    """A file object for pyarrow that counts and digests what is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.n_bytes = 0
        self.closed = False
        self.is_abandoned = False
        """Whether what is written is dropped."""

    def write(self, data: Any) -> int:
        view = memoryview(data)
        if self.is_abandoned:
            return view.nbytes
        self.sha256.update(view)
        self.n_bytes += view.nbytes
        with _naming(self._file.name):
            return self._file.write(view)

    def tell(self) -> int:
        return self.n_bytes

    def flush(self) -> None:
        with _naming(self._file.name):
            self._file.flush()

    def close(self) -> None:
        self.closed = True

    def finish(self) -> None:
        with _naming(self._file.name):
            self._file.close()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


@contextlib.contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Faults of the disk as our own errors, with the file and what to do."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise translate(error, str(path), None) from None


def write_parquet(table: pa.Table | Iterable[pa.Table], path: Path, schema: pa.Schema | None = None) -> WrittenFile:
    """Write a table, or tables of one schema, to a new local file.

    Args:
        schema: needed where `table` is an iterable that may be empty.

    Raises:
        FileExistsError: there is such a file.
    """
    if isinstance(table, pa.Table):
        return write_parquet([table], path, table.schema)
    tables = iter(table)
    if schema is None:
        first = next(tables)
        schema, tables = first.schema, iter([first, *tables])
    writer = ParquetWriter(path, schema)
    try:
        for piece in tables:
            writer.write(piece)
        return writer.close()
    except BaseException:
        writer.abandon()
        raise


def open_parquet(file: BinaryIO | Path, name: str) -> pq.ParquetFile:
    """Open a Parquet file for streaming, with page checksums verified.

    Args:
        name: for messages.

    Raises:
        InputError: it is no Parquet file, or was cut short.
    """
    try:
        return pq.ParquetFile(
            file, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True, memory_map=False
        )
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{name}: not a whole Parquet file ({_first_line(error)}); write it again") from None


def iterate_parquet(
    file: pq.ParquetFile,
    name: str,
    *,
    columns: Sequence[str] | None = None,
    batch_rows: int = ROWS_PER_GROUP,
    first_group: int = 0,
) -> Iterator[pa.Table]:
    """The rows in order, from a row group on, as tables of up to `batch_rows`, one row group in memory at a time.

    Raises:
        CorruptError: a page's checksum differs, or the bytes cannot be decoded.
    """
    wanted = None if columns is None else list(columns)
    try:
        groups = range(first_group, file.metadata.num_row_groups)
        for batch in file.iter_batches(batch_rows, row_groups=groups, columns=wanted, use_threads=False):
            yield pa.Table.from_batches([batch])
    except (pa.ArrowInvalid, OSError) as error:
        raise CorruptError(f"{name}: damaged ({_first_line(error)}); restore it, or make it again", key=name) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
