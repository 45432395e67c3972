"""ZON as it is written: what comes back from it, and how it looks."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.formats.zon import EnumLiteral, parse_zon, write_zon

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT | st.builds(EnumLiteral, NAMES)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=20
)


def exact(value: Any) -> Any:
    """A value that is equal only to one of the same types, with the same bits in its floats."""
    if isinstance(value, dict):
        return [(name, exact(member)) for name, member in value.items()]
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, float):
        return struct.pack("d", value)
    return type(value), value


@given(VALUES)
def test_what_is_written_comes_back(value: Any) -> None:
    assert exact(parse_zon(write_zon(value))) == exact(value)


@given(VALUES)
def test_what_is_written_is_written_the_same_again(value: Any) -> None:
    text = write_zon(value)
    assert write_zon(parse_zon(text)) == text


def test_it_looks_as_zigs_formatter_lays_it_out() -> None:
    value = {"name": "a", "split": EnumLiteral("train"), "tests": [{"argv": ["make", "test"]}], "none": [], "test": {}}
    assert write_zon(value) == (
        ".{\n"
        '    .name = "a",\n'
        "    .split = .train,\n"
        "    .tests = &.{\n"
        "        .{\n"
        '            .argv = &.{ "make", "test" },\n'
        "        },\n"
        "    },\n"
        "    .none = &.{},\n"
        '    .@"test" = .{},\n'
        "}\n"
    )


@pytest.mark.parametrize(
    "value, text",
    [
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (-0.0, "-0.0"),
        (1e16, "1e+16"),
        (True, "true"),
        ((1, "a"), '&.{ 1, "a" }'),
        ('a"b\\c\n\t\r\x00\x7f', r'"a\"b\\c\n\t\r\x00\x7f"'),
        ("é\u0085\u2028\ufeff", r'"é\u{85}\u{2028}\u{feff}"'),
        (EnumLiteral("error"), '.@"error"'),
        (EnumLiteral("1st"), '.@"1st"'),
    ],
)
def test_values_have_one_form(value: Any, text: str) -> None:
    assert write_zon(value) == f"{text}\n"


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value, message",
    [
        ({1: 2}, "the key 1 is not text"),
        ({"": 2}, "'' cannot be a name in ZON"),
        (EnumLiteral("a\0"), "cannot be a name in ZON"),
        ("\ud800", "half of a surrogate pair"),
        (b"a", "of type bytes has no form in ZON"),
        ({1, 2}, "of type set has no form in ZON"),
        ([10**1000], "more than 1,000 digits"),
        ([10**100_000], "more than 1,000 digits"),
        (deep(33), "deeper than 32 levels"),
        (deep(5000), "deeper than 32 levels"),
    ],
)
def test_what_has_no_form_is_refused(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_zon(value)


def test_as_many_levels_as_are_read_are_written() -> None:
    assert parse_zon(write_zon(deep(32))) == deep(32)
