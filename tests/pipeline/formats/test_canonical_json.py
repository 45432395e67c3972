"""Canonical JSON: whichever writer is quick enough, the bytes are those of RFC 8785."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.formats.canonical_json import MAX_EXACT_INTEGER, canonical_json

INTEGERS = st.integers(1 - MAX_EXACT_INTEGER, MAX_EXACT_INTEGER - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e17, 1e17) | st.floats(-1e-3, 1e-3)
TEXTS = st.text() | st.text(alphabet=[chr(number) for number in range(0x20)] + list('"\\/\x7f\u2028\ue000\U0001f600'))
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(VALUES)
@example({"\ue000": 1, "\U0001f600": 2, "a": [1.0, -0.0, 1e16, 1e21, 1e-7, 1e-4, 123.456, 999999999999999.9]})
def test_every_value_is_written_as_the_reference_writes_it(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@given(st.floats(1e-4, 1e15))
def test_floats_of_usual_size_are_written_as_the_reference_writes_them(value: float) -> None:
    assert canonical_json([value, -value]) == rfc8785.dumps([value, -value])


def test_integers_beyond_the_exact_ones_are_text_wherever_they_stand() -> None:
    assert canonical_json({"a": [2**53, -(2**53)], "b": 2**53 - 1}) == (
        b'{"a":["9007199254740992","-9007199254740992"],"b":9007199254740991}'
    )


def test_values_in_values_are_written_however_deep() -> None:
    value: Any = "x"
    for _ in range(300):
        value = [value]
    assert canonical_json(value) == b"[" * 300 + b'"x"' + b"]" * 300


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "\ud800", {"a": "\ud800"}, {"\ud800": 1}, {1: 2}, {1, 2}, b""]
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        canonical_json(value)


def test_keys_are_sorted_as_utf_16_does_and_not_by_code_points() -> None:
    value = {"\ufffd": 1, "\U0001f600": 2, "a": 3}
    assert canonical_json(value) == rfc8785.dumps(value) == '{"a":3,"\U0001f600":2,"\ufffd":1}'.encode()
    assert canonical_json([{"deep": value}]) == rfc8785.dumps([{"deep": value}])


@pytest.mark.parametrize(
    "number", [0.0, -0.0, 1.0, 1e15, 1e16, 1e21, 1e-4, 1e-5, 9.999e-5, 1e-7, 0.1, 2.0**53, 1.5e300]
)
def test_numbers_are_written_as_the_standard_has_them(number: float) -> None:
    assert canonical_json({"n": [number, -number]}) == rfc8785.dumps({"n": [number, -number]})
