"""Rows on stdout or into a file, as a table, CSV, JSON Lines or Parquet; a part at a time."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pipeline.cli.options import RowFormat
from pipeline.cli.screen import Cell, is_terminal, print_table
from pipeline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CELL = 60  # characters of a cell in a table; the other forms are whole
MAX_ON_TERMINAL = 1_000  # the same where the table is cut to the terminal's width afterwards
N_IN_TABLE = 20  # rows in a table unless --limit says more


def print_rows(tables: Iterator[pa.Table], form: RowFormat, output: Path | None, limit: int | None) -> int:
    """Write rows and return how many.

    Args:
        tables: of one schema; at least one, which may be empty.
        output: a file that is not there yet; None: stdout.
        limit: stop after so many; None: all, but 20 in a table.

    Raises:
        InputError: the file is there already, or Parquet would go to a terminal.
    """
    if form == "table" and output is not None:
        raise InputError("--format table is for the screen: choose csv, jsonl or parquet for --output")
    if form == "parquet" and output is None and is_terminal(sys.stdout):
        raise InputError("Parquet is not for a terminal: add --output FILE")
    most = N_IN_TABLE if form == "table" and limit is None else limit
    writers: dict[RowFormat, Callable[[Iterator[pa.Table], IO[bytes]], int]] = {
        "csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet,
    }  # fmt: skip
    if form == "table":
        return _print_table(first_rows(tables, most))
    with _opened(output) as file:
        return writers[form](first_rows(tables, most), file)


def first_rows(tables: Iterator[pa.Table], limit: int | None) -> Iterator[pa.Table]:
    """The tables until `limit` rows have passed; the first one in any case, for its schema."""
    left = limit
    for number, table in enumerate(tables):
        if left is not None and left <= 0 and number:
            return
        taken = table if left is None else table.slice(0, left)
        left = None if left is None else left - taken.num_rows
        yield taken


def as_text(value: Any) -> str:
    """A value as text: nested ones as JSON, bytes in base64, all else as it is written."""
    if isinstance(value, list | dict):
        return as_json(value).decode()
    return _scalar_text(value)


def as_json(value: Any) -> bytes:
    """A value as JSON, in which NaN and infinities are null."""
    import orjson

    return orjson.dumps(value, default=_scalar_text, option=orjson.OPT_NON_STR_KEYS)


def _scalar_text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _print_table(tables: Iterator[pa.Table]) -> int:
    rows: list[list[Cell]] = []
    names: list[str] = []
    most = MAX_ON_TERMINAL if is_terminal(sys.stdout) else MAX_CELL
    for table in tables:
        names = table.schema.names
        columns = [column.to_pylist(maps_as_pydicts="lossy") for column in table.columns]
        rows += [[_cell(value, most) for value in row] for row in zip(*columns, strict=True)]
    print_table(names, rows)
    return len(rows)


def _cell(value: Any, most: int) -> Cell:
    if value is None or isinstance(value, int | float):
        return value
    text = " ".join(as_text(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _write_jsonl(tables: Iterator[pa.Table], file: IO[bytes]) -> int:
    n_rows = 0
    for table in tables:
        for row in table.to_pylist(maps_as_pydicts="lossy"):
            file.write(as_json(row) + b"\n")
        n_rows += table.num_rows
    return n_rows


def _write_csv(tables: Iterator[pa.Table], file: IO[bytes]) -> int:
    from pyarrow import csv

    n_rows, writer = 0, None
    for table in tables:
        flat = _flattened(table)
        writer = writer or csv.CSVWriter(file, flat.schema)
        writer.write_table(flat)
        n_rows += flat.num_rows
    if writer is not None:
        writer.close()
    return n_rows


def _flattened(table: pa.Table) -> pa.Table:
    """The table with nested values as JSON and bytes in base64: CSV has no form for them."""
    import pyarrow as pa

    kinds = pa.types
    has_no_form = (
        kinds.is_nested, kinds.is_dictionary,
        kinds.is_binary, kinds.is_large_binary, kinds.is_fixed_size_binary, kinds.is_binary_view,
    )  # fmt: skip
    for index, field in enumerate(table.schema):
        if any(is_kind(field.type) for is_kind in has_no_form):
            values = table[field.name].to_pylist(maps_as_pydicts="lossy")
            text = [None if value is None else as_text(value) for value in values]
            table = table.set_column(index, field.name, pa.array(text, pa.large_string()))
    return table


def _write_parquet(tables: Iterator[pa.Table], file: IO[bytes]) -> int:
    import pyarrow.parquet as pq

    n_rows, writer = 0, None
    for table in tables:
        writer = writer or pq.ParquetWriter(file, table.schema, compression="zstd")
        writer.write_table(table)
        n_rows += table.num_rows
    if writer is not None:
        writer.close()
    return n_rows


@contextmanager
def _opened(output: Path | None) -> Iterator[IO[bytes]]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        file = open(output, "xb")  # noqa: SIM115 - closed below; only its opening is excused here
    except FileExistsError:
        raise InputError(f"{output} is there already; choose another name, or remove it") from None
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from None
    with file:
        yield file
