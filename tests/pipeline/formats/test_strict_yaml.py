"""YAML that reads as it looks, with the line of every value."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.formats.located import MAX_BYTES
from pipeline.formats.strict_yaml import parse_yaml


def value_of(text: str) -> Any:
    return parse_yaml(text.encode(), "a.yaml").value


@pytest.mark.parametrize(
    "text, value",
    [
        ("", None),
        ("a: 1", {"a": 1}),
        ("a: -1.5", {"a": -1.5}),
        ("a: 1e-3", {"a": 0.001}),
        ("a: 0", {"a": 0}),
        ("a: true\nb: False", {"a": True, "b": False}),
        ("a: null\nb:\nc: ~", {"a": None, "b": None, "c": None}),
        ("a: 'no'\nb: \"010\"", {"a": "no", "b": "010"}),
        ("a: [x, {b: c}]", {"a": ["x", {"b": "c"}]}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("a: name@0123abc", {"a": "name@0123abc"}),
        ("a: data/*.parquet", {"a": "data/*.parquet"}),
        ("\ufeffa: ü", {"a": "ü"}),
    ],
)
def test_plain_values_read_as_they_look(text: str, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: 1\nb: no", "a.yaml:2: 'no' without quotes reads as a truth value; write true or false, or quote it"),
        ("a: 010", "a.yaml:1: '010' without quotes reads as a number in another base"),
        ("a: 0x1F", "number in another base"),
        ("a: 1_000", "number in another base"),
        ("a: 1:30", "number in another base"),
        ("a: 2024-01-01", "reads as a date; quote it"),
        ("a: .inf", "not finite"),
        ("a: 1e999", "too large for a number"),
        ("<<: {a: 1}", "merge key"),
        ("a: &x 1\nb: *x", "a.yaml:1: anchors and aliases"),
        ("b: *x", "anchors and aliases"),
        ("a: !!python/object/apply:os.system ['true']", "tags .* are not supported"),
        ("a: !own 1", "tags"),
        ("a: 1\nb: 2\na: 3", "a.yaml:3: the key 'a' stands twice; the first is on line 1"),
        ("1: a", "the key '1' is not text; quote it"),
        ("on: a", "truth value"),
        ("? [a]\n: b", "is not text"),
        ("a: [1, 2", "is not YAML"),
        ("a: 1\nb: [1,\n", r"a\.yaml:3: is not YAML: .* \(column 1\)"),
        ("a: b\nc: \x07x", r"a\.yaml:2: is not YAML: the character '\\x07' \(column 4\)"),
        ("a: 1\n b: 2", "a.yaml:2: is not YAML"),
        ("a: 1\n---\nb: 2", "is not YAML"),
        ("a:\n- " + "9" * 5000, "a.yaml:2: a number has more than 1,000 digits; quote it if it is text"),
        ("a: \x00", "is not YAML"),
        ("a: " + "[" * 40 + "]" * 40, "nested deeper than 32 levels"),
        ("a: " + "x" * MAX_BYTES, "more than the 1,048,576"),
    ],
)
def test_what_reads_differently_from_how_it_looks_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        value_of(text)


def test_bytes_that_are_not_utf_8_are_refused_with_their_line() -> None:
    with pytest.raises(InputError, match=r"a.yaml:2: is not UTF-8 text"):
        parse_yaml(b"a: 1\nb: \xff", "a.yaml")


def test_every_value_has_its_line() -> None:
    document = parse_yaml(b"a: 1\nb:\n  - c: 2\n  - d: 3\n", "a.yaml")
    assert document.line_of(("b", 1, "d")) == 4
    assert document.line_of(("b", 1, "unknown", 7)) == 4
    assert document.line_of(("unknown",)) == 1


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab:#1-é "),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab1 ", min_size=1), inner, max_size=3),
    max_leaves=10,
)


@given(JSON_VALUES)
def test_what_is_dumped_comes_back_or_is_refused(value: Any) -> None:
    text = yaml.safe_dump({"root": value}, allow_unicode=True)
    try:
        read = value_of(text)
    except InputError:
        return
    assert read == {"root": value}
