"""JSON with the place of every value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.formats.json_document import read_json
from pipeline.formats.json_tree import read_tree
from pipeline.formats.located import MAX_BYTES, Located, Place

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('aé\n" ', max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_what_json_writes_is_read_back(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    read = read_json(text.encode(), "a.json").value
    assert json.dumps(read) == json.dumps(value)


def test_every_value_has_its_place_and_a_field_that_of_its_name() -> None:
    document = read_json(b'\xef\xbb\xbf{\n "a": 1,\r\n "b": ["x",\n  {"c": 2}]}', "a.json")
    assert document.value == {"a": 1, "b": ["x", {"c": 2}]}
    assert document.place_of(("b",)) == Place(3, 2)
    assert document.place_of(("b", 0)) == Place(3, 8)
    assert document.place_of(("b", 1, "c")) == Place(4, 4)
    assert document.line_of(("b", 9)) == 3


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "a.json:1:1: found the end, expected a value"),
        (b'{"a": 1,}', "a.json:1:9: found '}', expected a field's name in quotes"),
        (b"[1,]", "a.json:1:4: found ']', expected a value"),
        (b"{a: 1}", "a.json:1:2: found 'a', expected a field's name in quotes or '}'"),
        (b'{"a" 1}', "a.json:1:6: found '1', expected ':'"),
        (b'{"a": "b', "a.json:1:7: a text begins here that does not end on its line"),
        (b"[1]]", "a.json:1:4: found ']', expected the end"),
        (b'{"a": 1,\n"a": 2}', "a.json:2:1: the field 'a' stands twice; the first is on line 1"),
        (b'{"a": 1, "\\u0061": 2}', "a.json:1:10: the field 'a' stands twice"),
        (b"NaN", "a.json:1:1: 'NaN' is neither a number nor true, false or null"),
        (b"[-Infinity]", "'-Infinity' is neither a number"),
        (b"01", "'01' is neither a number"),
        (b"+1", "'+1' is neither a number"),
        (b"1e999", "1e999 is too large for a number"),
        (b"9" * 5000, "has more than 1,000 digits"),
        (b'"\\ud800"', "holds half of a surrogate pair"),
        (b'"\\q"', 'a.json:1:2: "\\q" is no text of JSON: '),
        (b'"a\tb"', "a.json:1:3: "),
        (b"1 // a", "a.json:1:3: found '/', expected the end"),
        (b"'a'", 'a.json:1:1: found "\'", expected a value'),
        (b"[" * 33 + b"]" * 33, "a.json:1:33: is nested deeper than 32 levels"),
        (b"[" * 100_000, "a.json:1:33: is nested deeper than 32 levels"),
        (b"1\n\xff", "a.json:2: is not UTF-8 text"),
        (b" " * (MAX_BYTES + 1), "a.json: has 1,048,577 bytes"),
        ("\u00a01".encode(), "a.json:1:1: found '\\xa0', expected a value"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_json(data, "a.json")
    assert message in str(caught.value)


@given(st.text(st.sampled_from(list('{}[]:,"\\ 1e.-ntu\n')), max_size=30))
def test_any_text_is_read_as_the_standard_library_does_or_refused(text: str) -> None:
    try:
        value = read_json(text.encode(), "a.json").value
    except InputError:
        return
    assert json.loads(text) == value


@given(VALUES)
def test_what_is_read_quickly_is_what_the_grammar_reads(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    quick, slow = read_json(text.encode(), "a.json"), read_tree(text, "a.json")
    assert json.dumps(quick.value) == json.dumps(slow.value)
    assert quick.places == slow.places


@given(st.text(st.sampled_from(list('{}[]:,"\\ 1e.-ntu\n')), max_size=30))
def test_any_text_is_read_or_refused_as_by_the_grammar(text: str) -> None:
    assert _outcome(lambda: read_json(text.encode(), "a.json")) == _outcome(lambda: read_tree(text, "a.json"))


def _outcome(read: Callable[[], Located]) -> object:
    try:
        return json.dumps(read().value)
    except InputError as error:
        return str(error)
