"""Values that are too large to be stored. They are found by their length, before anything copies them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.functions.failures import Failed
from pipeline.records.owners import Owner
from scorers.result import EvaluationScorerResult

MAX_VALUE_BYTES = 2**30
"""Bytes of one value: a page of Parquet ends at 2 GiB, and Arrow's 32-bit offsets with it."""
_UTF8_BYTES = 4  # the most that a character takes
_PIECE = 1 << 20  # characters that are encoded at once
_SMALL = (int, float, type(None))


def refuse_giants(values: list[Any]) -> None:
    """Put a `Failed` in the place of each value that is too large."""
    try:
        if max(map(len, values), default=0) * _UTF8_BYTES <= MAX_VALUE_BYTES and _are_flat(values):
            return
    except Exception:  # noqa: BLE001 - numbers have no length, and `__len__` may be the user's: one by one then
        pass
    for place, value in enumerate(values):
        if not isinstance(value, _SMALL) and (size := size_of(value)) > MAX_VALUE_BYTES:
            values[place] = too_large(size)


def refuse_giant_rows(array: pa.Array) -> dict[int, str]:
    """Errors of the rows of an array that are too large."""
    if array.nbytes <= MAX_VALUE_BYTES:
        return {}
    sizes = {row: array.slice(row, 1).nbytes for row in range(len(array))}
    return {row: too_large(size).error for row, size in sizes.items() if size > MAX_VALUE_BYTES}


def size_of(value: Any) -> int:
    """Bytes of text, bytes and what a scorer recorded; 0 for all else."""
    if isinstance(value, str):
        return _text_bytes(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return memoryview(value).nbytes
    if isinstance(value, EvaluationScorerResult):
        return len(value.metadata_json or "")
    if isinstance(value, list):
        return sum(size_of(item) for item in value if isinstance(item, str | bytes | EvaluationScorerResult))
    return 0


def too_large(size: int) -> Failed:
    """The failure of a row whose value has `size` bytes."""
    return Failed(
        f"returned a value of {size:,} bytes, more than {MAX_VALUE_BYTES:,} cannot be stored; "
        "write it to a file of its own and return its name",
        Owner.MODEL,
    )


def _are_flat(values: list[Any]) -> bool:
    return set(map(type, values)) <= {str, bytes}


def _text_bytes(text: str) -> int:
    if len(text) * _UTF8_BYTES <= MAX_VALUE_BYTES or text.isascii() or len(text) > MAX_VALUE_BYTES:
        return len(text)
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)
