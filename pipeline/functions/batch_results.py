"""What a batch function returned, taken apart into rows and joined to a column."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.functions.failures import Failed
from pipeline.functions.results import Returned
from pipeline.functions.value_size import refuse_giant_rows
from pipeline.records.owners import Owner


class ArrowRow(NamedTuple):
    """One row of a batch's result: the array, and the place in it."""

    array: pa.Array
    place: int


def spread(result: Any, size: int, returned: Returned) -> list[Any]:
    """The result of a batch of `size` rows as one entry a row; a result of another form or length fails all of them."""
    if isinstance(result, Failed):
        return [result] * size
    if returned.form == "list":
        if not isinstance(result, list):
            return _all_failed(f"returned {type(result).__name__}, declared {returned.text}", size)
        return result if len(result) == size else _all_failed(_length(len(result), size), size)
    if not isinstance(result, pa.Table | pa.Array | pa.ChunkedArray):
        return _all_failed(f"returned {type(result).__name__}, declared {returned.text}", size)
    if len(result) != size:
        return _all_failed(_length(len(result), size), size)
    try:
        array = _one_array(result)
        array = array if returned.arrow is None else array.cast(returned.arrow)
    except (pa.ArrowException, ValueError) as error:
        return _all_failed(f"the batch's result is not {returned.arrow}: {error}", size)
    giants = refuse_giant_rows(array)
    return [Failed(giants[row], Owner.MODEL) if row in giants else ArrowRow(array, row) for row in range(size)]


def join_arrow(rows: list[Any], count: int, declared: pa.DataType | None) -> tuple[pa.Array, dict[int, str]]:
    """The rows of `spread` as one array, null where there is none, and the errors of rows of another type."""
    arrays: dict[int, pa.Array] = {id(row.array): row.array for row in rows if row is not None}
    kind = declared or next((array.type for array in arrays.values()), pa.null())
    offsets: dict[int, int] = {}
    total = 0
    for key, array in arrays.items():
        if array.type == kind:
            offsets[key] = total
            total += len(array)
    errors = {
        place: f"the batch's result is {row.array.type}, that of the first batch was {kind}"
        for place, row in enumerate(rows)
        if row is not None and id(row.array) not in offsets
    }
    kept = [array for array in arrays.values() if array.type == kind]
    if not kept:
        return pa.nulls(count, kind), errors
    places = [offsets[id(r.array)] + r.place if r is not None and id(r.array) in offsets else None for r in rows]
    return pa.concat_arrays(kept).take(pa.array(places, pa.int64())), errors


def python_values(rows: list[Any]) -> list[Any]:
    """The rows of `spread` as Python values, each batch by itself; None where there is none."""
    lists: dict[int, list[Any]] = {}
    for row in rows:
        if row is not None and id(row.array) not in lists:
            lists[id(row.array)] = row.array.to_pylist()
    return [None if row is None else lists[id(row.array)][row.place] for row in rows]


def _one_array(result: Any) -> pa.Array:
    """One column as it is, several as a struct."""
    if isinstance(result, pa.Table):
        result = result.column(0) if result.num_columns == 1 else result.to_struct_array()
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    return result


def _length(found: int, size: int) -> str:
    return f"returned {found} rows for a batch of {size}"


def _all_failed(message: str, size: int) -> list[Any]:
    return [Failed(message, Owner.MODEL)] * size
