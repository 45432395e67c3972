"""Text of values, and Python's own rules for it in bulk."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers._json_text import json_floats, json_strings
from scorers._text import WHITESPACE, collapse_whitespace, fold, strip, stripped_text_of, text_of

EVERY_CHARACTER = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
ANY_TEXT = st.lists(st.text(st.characters(exclude_categories=["Cs"])))


def test_whitespace_is_what_python_takes_for_it() -> None:
    assert set(WHITESPACE) == {char for char in EVERY_CHARACTER if char.isspace()}


def test_every_character_is_stripped_folded_and_quoted_as_by_python() -> None:
    texts = [f"a{char}{char}b{char}" for char in EVERY_CHARACTER]
    series = pl.Series(texts)
    assert strip(series).to_list() == [text.strip() for text in texts]
    for kind in (pa.string(), pa.large_string()):
        assert stripped_text_of(pa.chunked_array([texts], kind)).to_list() == [text.strip() for text in texts]
    assert collapse_whitespace(series).to_list() == [" ".join(text.split()) for text in texts]
    assert fold(series).to_list() == [text.casefold() for text in texts]
    assert json_strings(series).to_list() == [json.dumps(text) for text in texts]


@given(ANY_TEXT)
@settings(deadline=None)  # time differs on a busy machine
def test_any_text_is_stripped_folded_and_quoted_as_by_python(texts: list[str]) -> None:
    series = pl.Series(texts, dtype=pl.String)
    assert strip(series).to_list() == [text.strip() for text in texts]
    for kind in (pa.string(), pa.large_string()):
        assert stripped_text_of(pa.chunked_array([texts], kind)).to_list() == [text.strip() for text in texts]
    assert collapse_whitespace(series).to_list() == [" ".join(text.split()) for text in texts]
    assert fold(series).to_list() == [text.casefold() for text in texts]
    assert json_strings(series).to_list() == [json.dumps(text) for text in texts]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
@settings(deadline=None)  # time differs on a busy machine
def test_floats_are_written_as_by_python(values: list[float]) -> None:
    assert json_floats(pl.Series(values, dtype=pl.Float64)).to_list() == [repr(value) for value in values]


def nanoseconds(count: int) -> pa.Array:
    return pa.array([count], pa.timestamp("ns"))


MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, 6)
COLUMNS: dict[str, tuple[pa.Array, list[str]]] = {
    "text": (pa.array(["a", None, ""]), ["a", "", ""]),
    "large text": (pa.array(["a", None], pa.large_string()), ["a", ""]),
    "text views": (pa.array(["a", None], pa.string_view()), ["a", ""]),
    "dictionary of text": (pa.array(["b", None, "b"]).dictionary_encode(), ["b", "", "b"]),
    "dictionary of numbers": (pa.array([7, None]).dictionary_encode(), ["7", ""]),
    "int64": (pa.array([1, None, -(2**63)]), ["1", "", "-9223372036854775808"]),
    "uint64": (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
    "float64": (pa.array([1.0, None, float("nan"), 1e16, -0.0]), ["1.0", "", "nan", "1e+16", "-0.0"]),
    "float32": (pa.array([0.1], pa.float32()), ["0.10000000149011612"]),
    "bool": (pa.array([True, None, False]), ["True", "", "False"]),
    "null": (pa.nulls(2), ["", ""]),
    "binary": (pa.array([b"a\n", None]), ["b'a\\n'", ""]),
    "list": (pa.array([["a", None], None, []]), ["['a', None]", "", "[]"]),
    "struct": (pa.array([{"a": 1, "b": None}, None]), ["{'a': 1, 'b': None}", ""]),
    "map": (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), ["[('k', 1)]"]),
    "decimal": (pa.array([decimal.Decimal("1.10")]), ["1.10"]),
    "date": (pa.array([datetime.date(2024, 1, 2)]), ["2024-01-02"]),
    "moment": (pa.array([MOMENT]), ["2024-01-02 03:04:05.000006"]),
    "moment in nanoseconds": (nanoseconds(1_999), ["1970-01-01 00:00:00.000001"]),
    "list of moments in nanoseconds": (
        pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), nanoseconds(0)),
        ["[datetime.datetime(1970, 1, 1, 0, 0)]"],
    ),
    "moment that Python has not": (
        pa.array([0, None, 2**62], pa.timestamp("s")),
        ["1970-01-01 00:00:00", "", "<value out of range: 4611686018427387904>"],
    ),
}


@pytest.mark.parametrize("column, texts", [pytest.param(*case, id=name) for name, case in COLUMNS.items()])
def test_a_value_reads_as_its_python_text_and_null_as_empty(column: pa.Array, texts: list[str]) -> None:
    assert text_of(pa.chunked_array([column])).to_list() == texts
    assert stripped_text_of(pa.chunked_array([column])).to_list() == [text.strip() for text in texts]


@pytest.mark.parametrize("column", [pytest.param(case[0], id=name) for name, case in COLUMNS.items()])
def test_slices_chunks_and_no_rows_read_alike(column: pa.Array) -> None:
    chunked = pa.chunked_array([column, column.slice(0, 0), column])
    whole = text_of(chunked).to_list()
    assert text_of(chunked.slice(1)).to_list() == whole[1:]
    assert text_of(chunked.slice(0, 0)).to_list() == []
    assert text_of(pa.chunked_array([], column.type)).to_list() == []


def test_text_in_one_column_of_different_types_reads_as_python_text() -> None:
    kinds, offsets = pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32())
    items: Any = pa.UnionArray.from_dense(kinds, offsets, [pa.array([1]), pa.array(["a"])])
    column = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), items)
    assert text_of(pa.chunked_array([column])).to_list() == ["[1, 'a']"]
