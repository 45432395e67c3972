"""Text columns without secrets. Knows Arrow's nested types and nothing of functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from pipeline.formats.redaction import MASK

_N_BUFFERS_OF_LISTS = 2  # validity and offsets; lists of a fixed size have no offsets


def masked(array: pa.Array, values: Sequence[str]) -> pa.Array:
    """The array with each of `values` replaced by the mask in all its text, also in structs, lists and maps.

    Args:
        array: of any type; what holds no text is returned as it is.
        values: longest first, so that none survives as part of another.
    """
    return _on_text(array, lambda text: _replaced(text, values)) if values else array


def masked_json(array: pa.Array, values: Sequence[str]) -> pa.Array:
    """Like `masked`, of text that is JSON: where a value looks like a number, the number becomes text."""
    return _on_text(array, lambda text: _replaced_in_json(text, values)) if values else array


def _replaced(text: pa.Array, values: Sequence[str]) -> pa.Array:
    for value in values:
        text = pc.replace_substring(text, pattern=value, replacement=MASK)
    return text


def _replaced_in_json(text: pa.Array, values: Sequence[str]) -> pa.Array:
    rows = text.to_pylist()
    hits = [place for place, row in enumerate(rows) if row and any(value in row for value in values)]

    def number(kind: Callable[[str], Any], digits: str) -> Any:
        return MASK if any(value in digits for value in values) else kind(digits)

    for place in hits:
        parsed = json.loads(
            rows[place], parse_int=lambda digits: number(int, digits), parse_float=lambda digits: number(float, digits)
        )
        rows[place] = json.dumps(parsed, sort_keys=True, separators=(",", ":"))
    return _replaced(pa.array(rows, text.type), values) if hits else text


def _on_text(array: pa.Array, replace: Callable[[pa.Array], pa.Array]) -> pa.Array:
    kind = array.type
    if not _has_text(kind):
        return array
    if _is_text(kind):
        return replace(array)
    if kinds.is_dictionary(kind):
        words = _on_text(array.dictionary, replace)
        return pa.DictionaryArray.from_arrays(array.indices, words, ordered=kind.ordered)
    if kinds.is_struct(kind):
        children = [_on_text(child, replace) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    buffers = array.buffers()[: 1 if kinds.is_fixed_size_list(kind) else _N_BUFFERS_OF_LISTS]
    children = [_on_text(array.values, replace)]
    return pa.Array.from_buffers(kind, len(array), buffers, offset=array.offset, children=children)


def _is_text(kind: pa.DataType) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind))


def _has_text(kind: pa.DataType) -> bool:
    if kinds.is_dictionary(kind):
        return _has_text(kind.value_type)
    if kinds.is_struct(kind):
        return any(_has_text(field.type) for field in kind)
    if kinds.is_map(kind):
        return _has_text(kind.key_type) or _has_text(kind.item_type)
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return _has_text(kind.value_type)
    return _is_text(kind)
