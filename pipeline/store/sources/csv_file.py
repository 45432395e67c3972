"""One CSV file as a source: read once to decide types over all rows, once to convert."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from pipeline.errors import DatasetError
from pipeline.store.sources.column_types import check_given, is_text
from pipeline.store.sources.csv_faults import line_of_row
from pipeline.store.sources.csv_text import CsvText, read_header
from pipeline.store.sources.csv_types import ColumnTyping, convert, first_refused, types_of
from pipeline.store.sources.source import Source, SourceOptions, Span
from pipeline.store.sources.storable import storable_schema


def open_csv(path: str, span: Span, options: SourceOptions) -> Source:
    """A CSV file as a source; its types are found here.

    Raises:
        DatasetError: a file that is no such CSV; names file, line, what was found and expected.
    """
    given = options.column_types
    text = read_header(path, options.delimiter, frozenset(name for name, kind in given.items() if is_text(kind)))
    check_given(given, text.names, text.what)
    schema = storable_schema(_find_types(text, span, given), text.what)

    def tables() -> Iterator[pa.Table]:
        first_row = 0
        for batch, n_bytes in text.blocks():
            yield _convert_block(batch, schema, text, first_row)
            first_row += batch.num_rows
            span.reach(0.5 + n_bytes / span.total / 2)

    return Source(schema, tables, "csv", text.what)


def _find_types(text: CsvText, span: Span, given: Mapping[str, pa.DataType]) -> pa.Schema:
    typings = {name: ColumnTyping() for name in text.names}
    for batch, n_bytes in text.checked_blocks():
        for name, typing in typings.items():
            if name not in given:
                typing.see(batch.column(name))
        span.reach(n_bytes / span.total / 2)
    return types_of(typings, given)


def _convert_block(batch: pa.RecordBatch, schema: pa.Schema, text: CsvText, first_row: int) -> pa.Table:
    columns = []
    for field, cells in zip(schema, batch.columns, strict=True):
        try:
            columns.append(convert(cells, field.type))
        except pa.ArrowInvalid:
            raise _no_such_value(field, cells, text, first_row) from None
        except pa.ArrowNotImplementedError:
            raise DatasetError(f"{text.what}: column {field.name!r}: text cannot be read as {field.type}") from None
    return pa.Table.from_arrays(columns, schema=schema)


def _no_such_value(field: pa.Field, cells: pa.Array, text: CsvText, first_row: int) -> DatasetError:
    position = first_refused(cells, field.type)
    line = line_of_row(text.path, text.delimiter, first_row + position)
    return DatasetError(
        f"{text.what}, line {line}: column {field.name!r} holds {cells[position].as_py()!r:.80}, expected "
        f"{field.type}; correct the cell or give the column another type in column_types"
    )
