"""Types of CSV columns, by rules that are exact and need no guess.

| all cells that are not null | type |
|---|---|
| `-?` digits, within int64 (`007` is 7) | int64 |
| numbers with a point or an exponent, `nan`, `inf`, whole numbers beyond int64, and int64 among them | float64 |
| `true True TRUE false False FALSE` | bool |
| anything else, or no cells | string |

Spaces around a number are ignored. `+5`, `1_000`, `0x1F`, `t` and dates are text; the user may give other types.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.store.sources.column_types import is_text

_INTEGER = r"^[ \t]*-?[0-9]+[ \t]*$"
_NUMBER = r"(?i)^[ \t]*-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf|infinity)[ \t]*$"
_TRUE = ("true", "True", "TRUE")
_FALSE = ("false", "False", "FALSE")


class ColumnTyping:
    """What one column may still be, after the blocks seen so far."""

    def __init__(self) -> None:
        self._integer = self._number = self._boolean = True
        self._seen = False

    def see(self, cells: pa.Array) -> None:
        """Take a block of cells into account."""
        if not (self._number or self._boolean):
            return
        cells = cells.drop_null()
        if len(cells) == 0:
            return
        self._seen = True
        self._boolean = self._boolean and _all(_is_one_of(cells, _TRUE + _FALSE))
        self._integer = self._integer and _all(pc.match_substring_regex(cells, _INTEGER)) and _fits_int64(cells)
        if not self._integer:
            self._number = self._number and _all(pc.match_substring_regex(cells, _NUMBER))

    def decide(self) -> pa.DataType:
        """The type of the column."""
        if not self._seen:
            return pa.string()
        if self._integer:
            return pa.int64()
        if self._number:
            return pa.float64()
        return pa.bool_() if self._boolean else pa.string()


def convert(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cells as values of a type.

    Raises:
        pa.ArrowInvalid, pa.ArrowNotImplementedError: a cell is no such value, or text cannot become that type.
    """
    if pa.types.is_boolean(kind) and _all(_is_one_of(cells.drop_null(), _TRUE + _FALSE)):
        return pc.if_else(cells.is_null(), pa.scalar(None, pa.bool_()), _is_one_of(cells, _TRUE))
    if not (is_text(kind) or pa.types.is_binary(kind)):
        cells = pc.utf8_trim(cells, characters=" \t")
    return cells.cast(kind)


def first_refused(cells: pa.Array, kind: pa.DataType) -> int:
    """The position of the first cell that `convert` refuses, found by halving."""
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _converts(cells.slice(low, middle - low), kind) else (low, middle)
    return low


def types_of(typings: Mapping[str, ColumnTyping], given: Mapping[str, pa.DataType]) -> pa.Schema:
    """The schema: given types, else found ones."""
    return pa.schema([(name, given.get(name) or typing.decide()) for name, typing in typings.items()])


def _is_one_of(cells: pa.Array, words: tuple[str, ...]) -> pa.Array:
    return pc.is_in(cells, value_set=pa.array(words))


def _all(flags: pa.Array) -> bool:
    return bool(pc.all(flags, min_count=0).as_py())


def _fits_int64(cells: pa.Array) -> bool:
    return _converts(cells, pa.int64())


def _converts(cells: pa.Array, kind: pa.DataType) -> bool:
    try:
        convert(cells, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True
