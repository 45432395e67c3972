"""A CSV file as a stream of text columns, in bounded memory. Decides nothing about types.

Comma separated, quoted with `"`, line ends inside quotes allowed, UTF-8 with or without a mark at the start. A cell
that is empty, `NULL` or `null` is null; in columns that are asked for as written, only an empty one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from pipeline.errors import DatasetError
from pipeline.store.location import without_credentials
from pipeline.store.open_url import open_input
from pipeline.store.sources.csv_faults import explain, find_blank_line, find_open_quote, long_cells, record_too_long
from pipeline.store.sources.csv_records import RecordTooLongError, record_blocks
from pipeline.store.sources.storable import check_names

BLOCK_BYTES = 4 << 20
"""Bytes parsed at once; more only for a record that is longer."""
LONGEST_RECORD = 128 << 20
"""Bytes. A longer record is refused."""
_NULLS = pa.array(["NULL", "null"])


class CsvText(NamedTuple):
    """A CSV file whose header has been read."""

    path: str
    delimiter: str
    names: list[str]
    has_rows: bool
    as_written: frozenset[str] = frozenset()
    """Columns in which only an empty cell is null, and `null` is text."""

    @property
    def what(self) -> str:
        """The file, for messages."""
        return without_credentials(self.path)

    def blocks(self) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Blocks of text columns, each with the bytes read so far.

        Raises:
            DatasetError: a row with another number of cells, bytes that are not UTF-8, a record that is too long; names
                the line.
        """
        if not self.has_rows:
            return
        names_line = 1
        with open_input(self.path) as file:
            try:
                for block, n_bytes in record_blocks(file, self.delimiter, BLOCK_BYTES, LONGEST_RECORD):
                    yield self._parse(block, names_line), n_bytes
                    names_line = 0
            except pa.ArrowInvalid as error:
                raise explain(self.path, self.delimiter, len(self.names), error) from None
            except RecordTooLongError as error:
                raise record_too_long(self.path, error.offset, LONGEST_RECORD) from None

    def checked_blocks(self) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Like `blocks`; also refuses what the parser lets pass: blank lines and a quote that is never closed."""
        looked_for_blanks = False
        last = None
        for batch, n_bytes in self.blocks():
            if not looked_for_blanks and _has_row_of_nulls(batch):
                find_blank_line(self.path, self.delimiter)
                looked_for_blanks = True
            last = batch.column(batch.num_columns - 1)[-1].as_py() if batch.num_rows else last
            yield batch, n_bytes
        # The parser ends an open quote with the file, whose last line end is then inside the cell.
        if last is not None and last.endswith(("\n", "\r")):
            find_open_quote(self.path, self.delimiter)

    def _parse(self, block: bytes, names_line: int) -> pa.RecordBatch:
        memory = _own_memory(block)
        table = pa_csv.read_csv(
            pa.BufferReader(memory),
            pa_csv.ReadOptions(
                column_names=self.names, skip_rows=1, skip_rows_after_names=names_line, block_size=memory.size
            ),
            pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=False),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(self.names, pa.string()), null_values=[""], strings_can_be_null=True
            ),
        )
        columns = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(
            [
                cells if name in self.as_written else _without_nulls(cells)
                for name, cells in zip(self.names, columns, strict=True)
            ],
            names=self.names,
        )


def read_header(path: str, delimiter: str, as_written: frozenset[str] = frozenset()) -> CsvText:
    """Read the header.

    Args:
        as_written: columns in which `null` is text.

    Raises:
        DatasetError: an empty file, blank or repeated names, bytes that are not UTF-8.
    """
    what = without_credentials(path)
    with open_input(path) as raw, long_cells():
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        try:
            names = next(csv.reader(text, delimiter=delimiter), None)
            has_rows = text.read(1) != ""
        except UnicodeDecodeError as error:
            raise explain(path, delimiter, 0, error) from None
        except csv.Error:  # of all that csv refuses, a cell that is too long is left: here, a quote that is not closed
            raise record_too_long(path, 0, LONGEST_RECORD) from None
    if names is None:
        raise DatasetError(f"{what}: is empty; expected a header line with the column names")
    check_names(names, f"{what}, line 1")
    return CsvText(path, delimiter, names, has_rows, as_written)


def _own_memory(block: bytes) -> pa.Buffer:
    """The block in memory of Arrow's, after an empty line that is skipped, so that no text of it is taken for a mark.

    Arrow's threads must hold nothing of Python's: what they let go while the interpreter ends aborts the process.
    """
    memory = pa.allocate_buffer(len(block) + 1)
    view = memoryview(memory).cast("B")
    view[:1] = b"\n"
    view[1:] = block
    return memory


def _without_nulls(cells: pa.Array) -> pa.Array:
    words = pc.is_in(cells, value_set=_NULLS)
    return pc.if_else(words, pa.scalar(None, pa.string()), cells) if pc.any(words).as_py() else cells


def _has_row_of_nulls(batch: pa.RecordBatch) -> bool:
    if batch.num_rows == 0 or any(column.null_count == 0 for column in batch.columns):
        return False
    all_null = batch.column(0).is_null()
    for column in batch.columns[1:]:
        all_null = pc.and_(all_null, column.is_null())
    return bool(pc.any(all_null).as_py())
