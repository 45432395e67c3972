"""A CSV file as a stream of text columns, in bounded memory. Decides nothing about types.

Comma separated, quoted with `"`, line ends inside quotes allowed, UTF-8 with or without a mark at the start. A cell
that is empty, `NULL` or `null` is null.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from pipeline.errors import DatasetError
from pipeline.store.location import without_credentials
from pipeline.store.open_url import open_input
from pipeline.store.sources.csv_faults import explain, find_blank_line, find_open_quote, long_cells
from pipeline.store.sources.storable import check_names

NULLS = ["", "NULL", "null"]


class CsvText(NamedTuple):
    """A CSV file whose header has been read."""

    path: str
    delimiter: str
    names: list[str]
    has_rows: bool

    @property
    def what(self) -> str:
        """The file, for messages."""
        return without_credentials(self.path)

    def blocks(self, block_bytes: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Blocks of text columns, each with the bytes read so far.

        Raises:
            DatasetError: a row with another number of cells, bytes that are not UTF-8; names the line.
            RecordTooLongError: a record does not fit into `block_bytes`.
        """
        if not self.has_rows:
            return
        with open_input(self.path) as raw:
            counted = _EndingInNewline(raw)
            try:
                for batch in pa_csv.open_csv(counted, *self._settings(block_bytes)):
                    yield batch, counted.n_bytes
            except pa.ArrowInvalid as error:
                if "straddling object" in str(error):
                    raise RecordTooLongError from None
                raise explain(self.path, self.delimiter, len(self.names), error) from None

    def checked_blocks(self, block_bytes: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Like `blocks`; also refuses what the parser lets pass: blank lines and a quote that is never closed."""
        looked_for_blanks = False
        last = None
        for batch, n_bytes in self.blocks(block_bytes):
            if not looked_for_blanks and _has_row_of_nulls(batch):
                find_blank_line(self.path, self.delimiter)
                looked_for_blanks = True
            last = batch.column(batch.num_columns - 1)[-1].as_py() if batch.num_rows else last
            yield batch, n_bytes
        # The parser ends an open quote with the file, whose last line end is then inside the cell.
        if last is not None and last.endswith(("\n", "\r")):
            find_open_quote(self.path, self.delimiter)

    def _settings(self, block_bytes: int) -> tuple[Any, Any, Any]:
        return (
            pa_csv.ReadOptions(column_names=self.names, skip_rows_after_names=1, block_size=block_bytes),
            pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=False),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()), null_values=NULLS, strings_can_be_null=True
            ),
        )


class RecordTooLongError(Exception):
    """A record is longer than the block it should fit into."""


def read_header(path: str, delimiter: str) -> CsvText:
    """Read the header.

    Raises:
        DatasetError: an empty file, blank or repeated names, bytes that are not UTF-8.
    """
    what = without_credentials(path)
    with open_input(path) as raw, long_cells():
        records = csv.reader(io.TextIOWrapper(raw, encoding="utf-8-sig", newline=""), delimiter=delimiter)
        try:
            names = next(records, None)
            has_rows = next(records, None) is not None
        except (UnicodeDecodeError, csv.Error) as error:
            raise explain(path, delimiter, 0, error) from None
    if names is None:
        raise DatasetError(f"{what}: is empty; expected a header line with the column names")
    check_names(names, f"{what}, line 1")
    return CsvText(path, delimiter, names, has_rows)


class _EndingInNewline(io.RawIOBase):
    """The file, with a line end at its end in any case, and a count of the bytes read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._last = b"\n"
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        self.n_bytes += len(data)
        if not data and self._last not in b"\r\n":
            data = b"\n"
        self._last = data[-1:] or self._last
        buffer[: len(data)] = data
        return len(data)


def _has_row_of_nulls(batch: pa.RecordBatch) -> bool:
    if batch.num_rows == 0 or any(column.null_count == 0 for column in batch.columns):
        return False
    all_null = batch.column(0).is_null()
    for column in batch.columns[1:]:
        all_null = pc.and_(all_null, column.is_null())
    return bool(pc.any(all_null).as_py())
