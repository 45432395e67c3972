"""One JSON Lines file as a source: an object a line, read once for types, once for values; blank lines are skipped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson
import pyarrow as pa

from pipeline.errors import DatasetError
from pipeline.store.location import without_credentials
from pipeline.store.open_url import open_input
from pipeline.store.sources.column_types import check_given, is_text
from pipeline.store.sources.json_keys import repeated_key
from pipeline.store.sources.rows import ROWS_PER_BLOCK, Block, RowTyper, to_table
from pipeline.store.sources.source import Source, SourceOptions, Span
from pipeline.store.sources.storable import storable_schema

_BYTES_PER_BLOCK = 8 << 20  # of text; as Python objects about ten times that
_BOM = b"\xef\xbb\xbf"


def open_jsonl(path: str, span: Span, options: SourceOptions) -> Source:
    """A JSON Lines file as a source.

    Raises:
        DatasetError: empty, a line that is no JSON object, a repeated key, mixed types; names file, line and column.
    """
    what = without_credentials(path)
    typer = RowTyper(options.column_types)
    n_rows = 0
    for block, n_bytes in _blocks(path, what, check_keys=True):
        typer.see(block)
        n_rows += len(block.rows)
        span.reach(n_bytes / span.total / 2)
    if n_rows == 0:
        raise DatasetError(f"{what}: holds no rows, so it has no columns; expected one JSON object a line")
    found = typer.schema()
    check_given(options.column_types, found.names, what)
    schema = storable_schema(found, what)

    texts = [name for name, kind in options.column_types.items() if is_text(kind)]

    def tables() -> Iterator[pa.Table]:
        for block, n_bytes in _blocks(path, what, texts):
            yield to_table(block, schema)
            span.reach(0.5 + n_bytes / span.total / 2)

    return Source(schema, tables, "jsonl", what)


def _blocks(
    path: str, what: str, texts: Sequence[str] = (), *, check_keys: bool = False
) -> Iterator[tuple[Block, int]]:
    """Blocks of rows, each with the bytes read up to its end; numbers in the columns `texts` as they are written."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    n_bytes = start = 0
    with open_input(path) as file:
        for number, line in enumerate(file, start=1):
            n_bytes += len(line)
            text = (line.removeprefix(_BOM) if number == 1 else line).strip()
            if text:
                row = _parse(text, f"{what}:{number}")
                if check_keys and (key := repeated_key(text, row)) is not None:
                    raise DatasetError(
                        f"{what}:{number}: the key {key!r} stands twice in one object; leave one of them"
                    )
                _keep_numbers(row, text, texts)
                rows.append(row)
                numbers.append(number)
            if len(rows) == ROWS_PER_BLOCK or (rows and n_bytes - start > _BYTES_PER_BLOCK):
                yield Block(rows, _place(what, numbers)), n_bytes
                rows, numbers, start = [], [], n_bytes
    if rows:
        yield Block(rows, _place(what, numbers)), n_bytes


def _place(what: str, numbers: list[int]) -> Callable[[int], str]:
    return lambda i: f"{what}:{numbers[i]}"


def _parse(text: bytes, where: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except ValueError as error:
        value = _parse_leniently(text, where, error)
    if not isinstance(value, dict):
        raise DatasetError(f'{where}: holds a JSON {type(value).__name__}, expected an object such as {{"name": 1}}')
    return value


def _keep_numbers(row: dict[str, Any], text: bytes, names: Sequence[str]) -> None:
    """Put the text of the line in the place of numbers: `1.50` and a whole number of 30 digits are kept."""
    for name in names:
        value = row.get(name)
        if type(value) is int and value:  # written in one way only; 0 may be -0
            row[name] = str(value)
        elif type(value) in (int, float):
            row[name] = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)[name]


def _parse_leniently(text: bytes, where: str, error: ValueError) -> Any:
    """NaN and Infinity, which Python writes and orjson refuses."""
    try:
        return json.loads(text.decode())
    except UnicodeDecodeError as fault:
        raise DatasetError(f"{where}: is not UTF-8 at byte {fault.start} of the line; convert the file") from None
    except (ValueError, RecursionError):
        raise DatasetError(f"{where}: is not one JSON object ({error}); expected one object a line") from None
