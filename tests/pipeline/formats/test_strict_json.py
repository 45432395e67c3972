"""JSON that was written by others: one reading, or none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.formats.strict_json import MAX_DEPTH, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_what_json_writes_is_read_back(value) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=False).encode(), "a.json") == value


@pytest.mark.parametrize(
    "data, message",
    [
        (b'{"a": 1, "a": 2}', "a.json: the key 'a' stands twice in one object"),
        (b'{"a": NaN}', "a.json: NaN is no JSON number; a value that does not exist is null"),
        (b"[-Infinity]", "a.json: -Infinity is no JSON number"),
        (b"1e999", "a.json: 1e999 is too large for a number"),
        (b'"\\ud800"', "a.json: holds half of a surrogate pair"),
        (b'{"\\ud800": 1}', "a.json: holds half of a surrogate pair"),
        (b"\n\xff", "a.json:2: is not UTF-8 text"),
        (b"[1,\n2,\n", "a.json:3: is not JSON: "),
        (b"", "a.json:1: is not JSON: "),
        (b"[" * 300 + b"]" * 300, f"a.json: is nested deeper than {MAX_DEPTH} levels"),
        (b"[" * 100_000, f"a.json: is nested deeper than {MAX_DEPTH} levels"),
        (b"9" * 5000, "a.json: holds an integer of thousands of digits"),
        (b"{'a': 1}", "a.json:1: is not JSON: "),
    ],
)
def test_what_has_two_readings_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(data, "a.json")
    assert str(caught.value).startswith(message)
