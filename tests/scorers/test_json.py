"""The reading, comparing and writing of JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers._json import MAX_DEPTH, LongInteger, json_equal, read_json
from scorers._json_text import compact_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
JSON_LIKE = st.text('[]{}:,"\\ \n\tu0123456789abcdefINaty-+.eE\x00\u0661\ufeff', max_size=12)


def python_reading(text: str) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


@given(VALUES.map(lambda value: json.dumps(value, indent=1)) | JSON_LIKE, st.booleans())
@settings(deadline=None)  # time differs on a busy machine
def test_what_python_reads_is_read_and_nothing_else(text: str, exact: bool) -> None:
    try:
        expected = python_reading(text)
    except ValueError:
        with pytest.raises(ValueError):
            read_json(text, exact=exact)
        return
    found = read_json(text, exact=exact or len(text) > 18)
    assert repr(found) == repr(expected)


@given(VALUES)
@settings(deadline=None)  # time differs on a busy machine
def test_compact_text_is_that_of_python(value: Any) -> None:
    assert compact_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_documents_are_read_to_the_same_depth_on_either_way(opening: str, closing: str, exact: bool) -> None:
    inner = "[]" if opening == "[" else "{}"
    deepest = opening * (MAX_DEPTH - 1) + inner + closing * (MAX_DEPTH - 1)
    assert json_equal(read_json(deepest, exact=exact), read_json(deepest, exact=not exact))
    with pytest.raises(ValueError, match="nested deeper than 1000 levels"):
        read_json(opening + deepest + closing, exact=exact)


def test_brackets_inside_text_are_no_depth() -> None:
    text = json.dumps(["[" * 2000 + '\\"'])
    assert read_json(text) == ["[" * 2000 + '\\"']


def test_a_deep_document_is_written_without_recursion() -> None:
    text = '[{"a":' * 450 + "[1,-" + "7" * 5000 + ',"é"]' + "}]" * 450
    assert compact_json(read_json(text, exact=True)) == text


def test_integers_of_any_length_are_compared_exactly() -> None:
    digits = "9" * 6000
    assert json_equal(read_json(digits), LongInteger(digits))
    assert not json_equal(read_json(digits), read_json(digits[:-1] + "8"))
    assert not json_equal(read_json(digits), read_json("1e400"))
    assert read_json("1" * 300, exact=True) == int("1" * 300)


def test_a_lone_surrogate_is_read() -> None:
    assert read_json('"\\ud800"') == "\ud800"


def test_constants_that_are_no_json_are_read_only_leniently() -> None:
    assert read_json("[-Infinity, Infinity]", lenient=True) == [-math.inf, math.inf]
    with pytest.raises(ValueError, match="NaN is no JSON at line 2 column 2"):
        read_json("[\n NaN]")


@pytest.mark.parametrize(
    "left, right, equal",
    [
        ("[1, true]", "[1.0, true]", True),
        ("[1]", "[true]", False),
        ("0", "false", False),
        ("{}", "[]", False),
        ("[]", "null", False),
        ('{"a": {"b": [1]}}', '{"a": {"b": [1, 2]}}', False),
        ("1e400", "1e500", True),
        ("9007199254740993", "9007199254740993.0", False),
    ],
)
def test_values_are_equal_as_json(left: str, right: str, equal: bool) -> None:
    assert json_equal(read_json(left), read_json(right)) is equal
