"""Finds the line of a fault in a CSV file. Slow and exact: runs only where the fast parser found one, or may have."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator
from itertools import chain
from typing import NoReturn

from pipeline.errors import DatasetError
from pipeline.store.location import without_credentials
from pipeline.store.open_url import open_input

_LONGEST_CELL = 128 << 20  # characters, as many as the parser's largest block; Python's own limit is 128 KiB
_END = "\0end of the file\0"
_PIECE_BYTES = 4 << 20


def explain(path: str, delimiter: str, n_columns: int, error: Exception) -> DatasetError:
    """The error for a file that the parser refused."""
    what = without_credentials(path)
    return (
        _encoding_fault(path, what)
        or _ragged_row(path, delimiter, n_columns, what)
        or DatasetError(f"{what}: cannot be read as CSV ({error})")
    )


def find_blank_line(path: str, delimiter: str) -> None:
    """Raise DatasetError if there is a line without any cell."""
    for first, _, record in read_records(path, delimiter):
        if not record:
            raise _blank(without_credentials(path), first)


def find_open_quote(path: str, delimiter: str) -> None:
    """Raise DatasetError if the last record ends inside quotes."""
    for first, _, record in read_records(path, delimiter, end=_END):
        if record and record[-1].endswith(_END) and record != [_END]:
            _refuse_open_quote(without_credentials(path), first)


def record_too_long(path: str, offset: int, limit: int) -> DatasetError:
    """The error for a record that begins at a byte of the file and is longer than `limit` bytes."""
    line = 1
    with open_input(path) as file:
        last = b""
        while offset > 0 and (piece := file.read(min(offset, _PIECE_BYTES))):
            offset -= len(piece)
            line += piece.count(b"\n") + piece.count(b"\r") - (last + piece).count(b"\r\n")
            last = piece[-1:]
    return DatasetError(
        f"{without_credentials(path)}, line {line}: a record of more than {limit >> 20} MiB, the most that is read of "
        "a CSV file, begins here; is a quote not closed? If not, store such cells in Parquet"
    )


def line_of_row(path: str, delimiter: str, row: int) -> int:
    """The line on which a row begins; row 0 is the one after the header."""
    for position, (first, _, _) in enumerate(read_records(path, delimiter)):
        if position == row + 1:
            return first
    return 0


def read_records(path: str, delimiter: str, end: str = "") -> Iterator[tuple[int, int, list[str]]]:
    """Every record with its first and last line, from 1.

    Args:
        end: text that is read after the file, on a line of its own.
    """
    with open_input(path) as raw, long_cells():
        lines = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
        reader = csv.reader(chain(lines, [end] if end else []), delimiter=delimiter)
        first = 1
        for record in reader:
            yield first, reader.line_num, record
            first = reader.line_num + 1


def _encoding_fault(path: str, what: str) -> DatasetError | None:
    offset = 0
    with open_input(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                place = offset + error.start
                hint = " (it looks like UTF-16)" if line[:2] in (b"\xff\xfe", b"\xfe\xff") and number == 1 else ""
                return DatasetError(
                    f"{what}, line {number}: is not UTF-8 at byte {place} of the file{hint}; convert the file to UTF-8"
                )
            offset += len(line)
    return None


def _ragged_row(path: str, delimiter: str, n_columns: int, what: str) -> DatasetError | None:
    with contextlib.suppress(csv.Error):
        for first, _, record in read_records(path, delimiter):
            if not record:
                return _blank(what, first)
            if len(record) != n_columns:
                return DatasetError(
                    f"{what}, line {first}: has {_cells(len(record))}, expected {n_columns} as in the header; "
                    "cells that hold the delimiter or a line end need quotes"
                )
    return None


def _blank(what: str, line: int) -> DatasetError:
    return DatasetError(f"{what}, line {line}: is blank; expected a row (remove the line)")


def _cells(count: int) -> str:
    return f"{count} cell{'' if count == 1 else 's'}"


def _refuse_open_quote(what: str, line: int) -> NoReturn:
    raise DatasetError(f'{what}, line {line}: a quote (") that opens in this record is never closed')


@contextlib.contextmanager
def long_cells() -> Iterator[None]:
    """Let the csv module read cells of up to 128 MiB; its limit is global, so it is put back as it was."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)
