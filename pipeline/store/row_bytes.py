"""What rows weigh, and where a stream of them is cut: by the rows alone, not by how they arrived."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class RowCutter:
    """Makes tables of exactly `rows` rows, or of fewer where their values would exceed `n_bytes`, from other tables."""

    def __init__(self, rows: int, n_bytes: int) -> None:
        self._limits = rows, n_bytes
        self._pending: list[pa.Table] = []
        self._n_rows = self._size = 0

    def add(self, table: pa.Table) -> list[pa.Table]:
        """Take rows in; the tables that are full now. One row is a table of its own, however large it is."""
        rows, n_bytes = self._limits
        ends = np.cumsum(row_bytes(table))
        full: list[pa.Table] = []
        start = 0
        while start < table.num_rows:
            before = int(ends[start - 1]) if start else 0
            fits = int(np.searchsorted(ends, before + n_bytes - self._size, side="right")) - start
            take = min(rows - self._n_rows, max(fits, 0 if self._n_rows else 1), table.num_rows - start)
            if take:
                self._pending.append(table.slice(start, take))
                self._n_rows += take
                start += take
                self._size += int(ends[start - 1]) - before
            if start < table.num_rows or self._n_rows == rows:
                full += self.rest()
        return full

    def rest(self) -> list[pa.Table]:
        """What waits for more rows: one table, or none."""
        waiting = [pa.concat_tables(self._pending)] if self._n_rows else []
        self._pending, self._n_rows, self._size = [], 0, 0
        return waiting


def fitting_rows(table: pa.Table, n_bytes: int) -> tuple[int, int]:
    """How many of the first rows fit into so many bytes of values, and their bytes."""
    ends = np.cumsum(row_bytes(table))
    fit = int(np.searchsorted(ends, n_bytes, side="right"))
    return fit, int(ends[fit - 1]) if fit else 0


def unfolded_bytes(table: pa.Table) -> int:
    """Bytes that a table takes, about, once dictionaries have become the values that they stand for."""
    folded = [column for column in table.columns if pa.types.is_dictionary(column.type)]
    return int(table.nbytes) + sum(_values_of(chunk) for column in folded for chunk in column.chunks)


def _values_of(array: pa.DictionaryArray) -> int:
    weights = pa.array(_value_bytes(array.dictionary), pa.int64())
    return int(pc.sum(weights.take(array.indices)).as_py() or 0)


def row_bytes(table: pa.Table) -> Any:
    """int64, one entry a row: the bytes of its values, of text their length; nulls of text and bits count nothing."""
    total = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        total += np.concatenate([np.zeros(0, np.int64), *(_value_bytes(chunk) for chunk in column.chunks)])
    return total


def _value_bytes(array: pa.Array) -> Any:
    """Bytes of each value: of text and bytes their length, of nested values the sum; nulls and bits count nothing."""
    kind = array.type
    if array.null_count == len(array) and _is_text(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_struct(kind):
        return sum((_value_bytes(child) for child in array.flatten()), np.zeros(len(array), np.int64))
    if pa.types.is_nested(kind):
        children = np.concatenate([[0], np.cumsum(_child_bytes(array))])
        ends = np.concatenate([[0], np.cumsum(_to_numpy(_lengths(array)))])
        return np.diff(children[ends])
    if _is_text(kind):
        return _to_numpy(pc.binary_length(array))
    width = 0 if pa.types.is_null(kind) else kind.bit_width // 8
    return np.full(len(array), width, dtype=np.int64)


def _child_bytes(array: pa.Array) -> Any:
    if pa.types.is_map(array.type):
        array = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    return _value_bytes(array.flatten())


def _lengths(array: pa.Array) -> pa.Array:
    if pa.types.is_map(array.type):
        array = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    return pc.list_value_length(array)


def _is_text(kind: pa.DataType) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)
    )


def _to_numpy(lengths: pa.Array) -> Any:
    return pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False).astype(np.int64)
