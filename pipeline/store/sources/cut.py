"""Cuts a stream of tables into parts. Where it cuts depends on the rows alone, not on how they arrived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ROWS_PER_PART = 65_536
BYTES_PER_PART = 256 << 20  # of values: what one part may need in memory, however large its cells are


def cut_parts(
    tables: Iterable[pa.Table], *, rows: int = ROWS_PER_PART, n_bytes: int = BYTES_PER_PART
) -> Iterator[pa.Table]:
    """Tables of exactly `rows` rows, or of fewer where their values would exceed `n_bytes`; the last holds the rest."""
    pending: list[pa.Table] = []
    n_rows = size = 0
    for table in tables:
        ends = np.cumsum(_row_bytes(table))
        start = 0
        while start < table.num_rows:
            before = int(ends[start - 1]) if start else 0
            fits = int(np.searchsorted(ends, before + n_bytes - size, side="right")) - start
            take = min(rows - n_rows, max(fits, 0 if n_rows else 1), table.num_rows - start)
            if take:
                pending.append(table.slice(start, take))
                n_rows += take
                start += take
                size += int(ends[start - 1]) - before
            if start < table.num_rows or n_rows == rows:
                yield pa.concat_tables(pending)
                pending, n_rows, size = [], 0, 0
    if n_rows:
        yield pa.concat_tables(pending)


def _row_bytes(table: pa.Table) -> Any:
    total = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        total += np.concatenate([np.zeros(0, np.int64), *(_value_bytes(chunk) for chunk in column.chunks)])
    return total


def _value_bytes(array: pa.Array) -> Any:
    """Bytes of each value: of text and bytes their length, of nested values the sum; nulls and bits count nothing."""
    kind = array.type
    if pa.types.is_struct(kind):
        return sum((_value_bytes(child) for child in array.flatten()), np.zeros(len(array), np.int64))
    if pa.types.is_nested(kind):
        children = np.concatenate([[0], np.cumsum(_child_bytes(array))])
        ends = np.concatenate([[0], np.cumsum(_to_numpy(_lengths(array)))])
        return np.diff(children[ends])
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or _is_large(kind):
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


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def _to_numpy(lengths: pa.Array) -> Any:
    return pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False).astype(np.int64)
