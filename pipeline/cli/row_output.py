"""Rows on stdout or into a file, as a table, CSV, JSON Lines or Parquet; a part at a time."""

from __future__ import annotations

import json
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


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as plain values; maps as dicts."""
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="lossy")
    return rows


def _print_table(tables: Iterator[pa.Table]) -> int:
    rows: list[list[Cell]] = []
    names: list[str] = []
    for table in tables:
        names = table.schema.names
        rows += [[_cell(value) for value in row.values()] for row in plain_rows(table)]
    print_table(names, rows)
    return len(rows)


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"


def _write_jsonl(tables: Iterator[pa.Table], file: IO[bytes]) -> int:
    n_rows = 0
    for table in tables:
        for row in plain_rows(table):
            file.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")
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
    """The table with nested values and bytes as JSON text: CSV has no form for them."""
    import pyarrow as pa

    for index, field in enumerate(table.schema):
        if pa.types.is_nested(field.type) or pa.types.is_dictionary(field.type) or pa.types.is_binary(field.type):
            values = table[field.name].to_pylist(maps_as_pydicts="lossy")
            text = [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values]
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
