"""Rows as Python mappings, in blocks: types from all rows in a first pass, Arrow tables in a second.

Columns are those of all rows, in the order in which they are first seen; a key that a row lacks is null there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import orjson
import pyarrow as pa

from pipeline.errors import DatasetError
from pipeline.store.sources.column_types import is_text
from pipeline.store.sources.value_types import MixedTypesError, infer_type, merge_types

ROWS_PER_BLOCK = 8192  # Python objects in memory at once

_ARROW_REFUSES = (pa.ArrowException, TypeError, ValueError, OverflowError)  # UnicodeEncodeError is a ValueError


class Block(NamedTuple):
    """Some rows, and how to say where one of them is."""

    rows: Sequence[Mapping[str, Any]]
    place: Callable[[int], str]
    """From the position in the block to, for example, `jan.jsonl:17`."""


class RowTyper:
    """Finds the columns and their types over all blocks."""

    def __init__(self, given: Mapping[str, pa.DataType]) -> None:
        self._given = given
        self._types: dict[str, pa.DataType] = {}

    def see(self, block: Block) -> None:
        """Take the rows of a block into account.

        Raises:
            DatasetError: a mixture of types, or a value that Arrow does not know; names column and row.
        """
        for name in dict.fromkeys(chain.from_iterable(block.rows)):
            if not isinstance(name, str):
                raise DatasetError(f"{block.place(0)}: the column name {name!r} is no text; use text as keys")
            known = self._types.get(name, pa.null())
            if name in self._given:
                self._types[name] = self._given[name]
                continue
            values = [row.get(name) for row in block.rows]
            try:
                self._types[name] = merge_types(known, infer_type(values))
            except (MixedTypesError, *_ARROW_REFUSES) as error:
                raise _first_misfit(name, known, values, block, error) from None

    def schema(self) -> pa.Schema:
        """The columns found so far."""
        return pa.schema(list(self._types.items()))


def to_table(block: Block, schema: pa.Schema) -> pa.Table:
    """The rows of a block as a table.

    Raises:
        DatasetError: a value that its column cannot hold; names column and row.
    """
    arrays = []
    for field in schema:
        values = [row.get(field.name) for row in block.rows]
        try:
            arrays.append(to_array(values, field.type))
        except _ARROW_REFUSES as error:
            raise _first_refused(field, values, block, error) from None
    return pa.Table.from_arrays(arrays, schema=schema)


def to_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values as one Arrow array of a type that was found for them, or given by the user.

    Text asked of other values is their JSON; other types asked of text are read from it.
    """
    values = [None if infer_type([value]) == pa.null() else value for value in values] if _has_odd(values) else values
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    try:
        return pa.array(values, type=kind)
    except _ARROW_REFUSES:
        if kind == pa.float64():
            return pa.array([None if value is None else float(value) for value in values], type=kind)
        if is_text(kind):
            return pa.array([_as_text(value) for value in values], type=kind)
        if all(value is None or isinstance(value, str) for value in values):
            return pa.array(values, type=pa.string()).cast(kind)
        raise


def row_blocks(rows: Iterable[Mapping[str, Any]], n_rows: int = ROWS_PER_BLOCK) -> Iterator[Block]:
    """Rows in memory, in blocks; row 0 is the first."""
    block: list[Mapping[str, Any]] = []
    first = 0
    for position, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {position} is a {type(row).__name__}, expected a mapping of column name to value")
        block.append(row)
        if len(block) == n_rows:
            yield Block(block, _row_number(first))
            block, first = [], position + 1
    if block:
        yield Block(block, _row_number(first))


def _row_number(first: int) -> Callable[[int], str]:
    return lambda i: f"row {first + i}"


def _has_odd(values: Sequence[Any]) -> bool:
    return any(cls.__name__ in ("NAType", "NaTType") for cls in set(map(type, values)))


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if (
        isinstance(value, int | float) and not abs(value) < 2**63
    ):  # too large, NaN or infinite: orjson has no text of it
        return json.dumps(value)
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()


def _first_misfit(name: str, known: pa.DataType, values: Sequence[Any], block: Block, error: Exception) -> DatasetError:
    """The error for the first value that does not go with those before it."""
    for i, value in enumerate(values):
        try:
            known = merge_types(known, infer_type([value]))
        except MixedTypesError as mixed:
            return DatasetError(
                f"{block.place(i)}: column {name + mixed.path!r} mixes types: {mixed.second} here, {mixed.first} "
                f'before; make them equal, or keep the column as text with column_types={{"{name}": "string"}}'
            )
        except _ARROW_REFUSES as refusal:
            return _refused(name, block.place(i), refusal)
    return _refused(name, block.place(0), error)


def _first_refused(field: pa.Field, values: Sequence[Any], block: Block, error: Exception) -> DatasetError:
    for i, value in enumerate(values):
        try:
            to_array([value], field.type)
        except _ARROW_REFUSES as refusal:
            return _refused(field.name, block.place(i), refusal, field.type)
    return _refused(field.name, block.place(0), error, field.type)


def _refused(name: str, place: str, error: Exception, kind: pa.DataType | None = None) -> DatasetError:
    wanted = f" as {kind}" if kind is not None else ""
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return DatasetError(
        f"{place}: column {name!r} has a value that cannot be stored{wanted} ({text}); "
        f'correct it, or keep the column as text with column_types={{"{name}": "string"}}'
    )
