"""ZON: what each form of it means, and where an error stands."""

from __future__ import annotations

import math
import pickle
import time

import pytest

from pipeline.errors import InputError
from pipeline.formats.located import MAX_BYTES, Place
from pipeline.formats.zon import EmptyBraces, EnumLiteral, ZonError, parse_zon, read_zon

# Every form at least once; the tests below break it at each of its tokens.
EVERY_FORM = r"""
// A comment.
.{
    .text = "plain \n\r\t\\\'\" \x41 \u{1F600} \xc3\xa9", // another
    .@"quoted \u{e9} name" = .@"quoted value",
    .lines =
        \\first \n is not an escape
        // between
        \\
        \\third // no comment
    ,
    .numbers = .{ 0, 1_000, -7, 0xFF_ff, 0o17, 0b1010, 1.5, -2e3, 1_0.2_5e-1_0, 0x1.8p3, 0xA.8, inf, -inf, nan },
    .characters = .{ 'a', '\n', '\'', '\x7f', '\u{e9}', 'é' },
    .words = &.{ true, false, null, .train, .true },
    .nested = .{ .{ .a = .{ .b = &.{} } }, .{}, & . { 1 } },
}
"""


def test_every_form_has_its_value() -> None:
    value = parse_zon(EVERY_FORM)
    numbers = value.pop("numbers")
    assert value == {
        "text": "plain \n\r\t\\'\" A 😀 é",
        "quoted é name": "quoted value",
        "lines": "first \\n is not an escape\n\nthird // no comment",
        "characters": [97, 10, 39, 127, 0xE9, 0xE9],
        "words": [True, False, None, "train", "true"],
        "nested": [{"a": {"b": []}}, {}, [1]],
    }
    assert numbers[:-1] == [0, 1000, -7, 65535, 15, 10, 1.5, -2000.0, 10.25e-10, 12.0, 10.5, math.inf, -math.inf]
    assert math.isnan(numbers[-1])
    assert [type(number) for number in numbers[:7]] == [int, int, int, int, int, int, float]


def test_an_enum_literal_is_told_from_text() -> None:
    value = parse_zon('.{ .train, "train", .@"two words" }')
    assert [type(item) for item in value] == [EnumLiteral, str, EnumLiteral]
    assert [repr(item) for item in value] == [".train", "'train'", ".two words"]


def test_empty_braces_may_be_a_struct_and_pointed_ones_are_a_list() -> None:
    assert type(parse_zon(".{}")) is EmptyBraces
    assert parse_zon(".{}") == {}
    assert parse_zon("&.{}") == []


@pytest.mark.parametrize("text", ["\ufeff.{ 1 }", ".{\r\n1 }", ".{1,}", "\t.{\t1\t}//", "//// ruler\n.{1}"])
def test_layout_does_not_matter(text: str) -> None:
    assert parse_zon(text) == [1]


def test_a_line_of_a_multiline_string_ends_before_a_carriage_return() -> None:
    assert parse_zon("\\\\a\r\n\\\\b\r\n") == "a\nb"


@pytest.mark.parametrize(
    "text, place, message",
    [
        ("", (1, 1), "found the end, expected a value"),
        (".{\n  .a = 1,\n", (3, 1), "found the end, expected a field (.name = value) or '}'"),
        (".{ .a = 1, 2 }", (1, 12), "found '2', expected a field (.name = value) or '}'"),
        (".{ 1, .a = 2 }", (1, 10), "found '=', expected ',' or '}'"),
        (".{ 1 2 }", (1, 6), "found '2', expected ',' or '}'"),
        (".{ .a 1 }", (1, 7), "found '1', expected '=', ',' or '}'"),
        (".{ .a = 1, .b }", (1, 15), "found '}', expected '='"),
        (".{,}", (1, 3), "found ',', expected a value or '}'"),
        ("{}", (1, 1), "found '{', expected a value"),
        (".", (1, 2), "found the end, expected a name or '{'"),
        ('.@"a', (1, 2), "a name in quotes begins here that does not end on its line"),
        ("&1", (1, 2), "found '1', expected '.{'"),
        ("&.x", (1, 3), "found 'x', expected '{'"),
        ("1 1", (1, 3), "found '1', expected the end"),
        ("--1", (1, 2), "found '-', expected a number"),
        ('-"a"', (1, 2), "found '\"a\"', expected a number"),
        ("+1", (1, 1), "found '+', expected a value"),
        (".5", (1, 2), "found '5', expected a name or '{'"),
        ('\n "a\n"', (2, 2), "a string begins here that does not end on its line"),
        ("'a", (1, 1), "a character begins here that does not end on its line"),
        ("''", (1, 1), "'' holds 0 characters, expected one"),
        ("'ab'", (1, 1), "'ab' holds 2 characters, expected one"),
        ('"é\\q"', (1, 3), r"'\\q' begins no escape; there are \n \r \t \\ \' \" \xNN \u{N}"),
        (r'"\x4"', (1, 2), r"'\\x' begins no escape"),
        (r'"\u{}"', (1, 2), r"'\\u' begins no escape"),
        (r'"\u{d800}"', (1, 2), r"\u{d800} is no character of Unicode"),
        (r'"\u{110000}"', (1, 2), r"\u{110000} is no character of Unicode"),
        (r'"\u{%s}"' % ("f" * 5000), (1, 2), "is no character of Unicode"),
        (r'"\xff"', (1, 1), r'the bytes of "\xff" are no UTF-8 text'),
        ('"a\tb"', (1, 3), r"a tab may not stand between quotes; write \t"),
        ("\\\\a\n\\\\b\tc", (2, 4), "a tab may not stand in a string"),
        ("010", (1, 1), "'010' is not a number; it may not begin with 0 (0o stands before octal digits)"),
        ("1_", (1, 1), "'1_' is not a number; _ stands between digits"),
        ("1__0", (1, 1), "_ stands between digits"),
        ("0x", (1, 1), "'0x' is not a number; numbers look like"),
        ("0X1", (1, 1), "write 0x, 0o or 0b in small letters"),
        ("0b2", (1, 1), "'0b2' is not a number"),
        ("1.", (1, 1), "'1.' is not a number; digits stand on both sides of the point"),
        ("1e", (1, 1), "'1e' is not a number"),
        ("-\n1x", (1, 1), "'1x' is not a number"),
        ("1e999", (1, 1), "1e999 is too large for a number"),
        ("0x1p9999999999999", (1, 1), "is too large for a number"),
        ("9" * 1001, (1, 1), "has more than 1,000 digits"),
        ("-0", (1, 1), "-0 is no integer; write 0, or -0.0"),
        ("-nan", (1, 1), "-nan is no value; a minus stands before a number or inf"),
        ("-true", (1, 1), "-true is no value"),
        (".{ .a = flase }", (1, 9), "the word 'flase' is no value: there are true, false, null, inf, nan; did you"),
        ("train", (1, 1), "text stands in quotes, and a name after a dot (.train)"),
        (".{\n .a = 1,\n .a = 2 }", (3, 2), "the field 'a' stands twice; the first is on line 2"),
        ('.{ .a = 1, .@"\\x61" = 2 }', (1, 12), "the field 'a' stands twice"),
        ('.@""', (1, 2), "is empty or holds a NUL"),
        ('.@"\\x00"', (1, 2), "is empty or holds a NUL"),
        ("/// a\n1", (1, 1), "/// begins a documentation comment, which ZON does not have; write //"),
        ("//! a\n1", (1, 1), "//! begins a documentation comment"),
        ("1 // \x01", (1, 6), r"the character '\x01' may not stand in ZON"),
        ("\x00", (1, 1), r"the character '\x00' may not stand in ZON"),
        ('"\ud800"', (1, 2), r"the character '\ud800' may not stand in ZON"),
        ("1\r2", (1, 2), "a carriage return without a line feed may not stand in ZON"),
        ("1 /* a */", (1, 3), "found '/', expected the end"),
        (".{" * 33 + "}" * 33, (1, 66), "is nested deeper than 32 levels"),
        (".{" * 100_000, (1, 66), "is nested deeper than 32 levels"),
        ("." * 100_000, (1, 2), "found '.', expected a name or '{'"),
        (".{\n" + "1," * 100_000, (2, 199_999), "has more than 200,000 words and signs"),
    ],
)  # fmt: skip
def test_an_error_names_line_and_column(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(ZonError) as caught:
        parse_zon(text, where="a.zon")
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"a.zon:{place[0]}:{place[1]}: ")
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize(
    "data, message",
    [
        (b"1\n\xff", "a.zon:2:1: is not UTF-8 text; save it as UTF-8"),
        (b" " * (MAX_BYTES + 1), "a.zon:1:1: has 1,048,577 bytes, more than the 1,048,576"),
    ],
)
def test_bytes_that_are_no_text_or_too_many_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ZonError, match=message):
        read_zon(data, "a.zon")


def test_every_value_has_its_place_and_a_field_that_of_its_name() -> None:
    document = read_zon(b'.{\n  .a = 1,\n  .b = .{ "x",\n    .{ .c = 2 } },\n}', "a.zon")
    assert document.value == {"a": 1, "b": ["x", {"c": 2}]}
    assert document.place_of(("b",)) == Place(3, 3)
    assert document.place_of(("b", 0)) == Place(3, 11)
    assert document.place_of(("b", 1, "c")) == Place(4, 8)
    assert document.line_of(("b", 1, "unknown", 7)) == 4
    assert document.line_of(("unknown",)) == 1


def test_a_caller_may_allow_less_or_more_levels() -> None:
    assert parse_zon("1", max_depth=0) == 1
    with pytest.raises(ZonError, match="deeper than 1 levels"):
        parse_zon(".{ .{} }", max_depth=1)
    assert parse_zon(".{" * 200 + "}" * 200, max_depth=200)
    with pytest.raises(ValueError, match="max_depth is 201, expected 0 to 200"):
        parse_zon("1", max_depth=201)


def test_an_error_is_an_input_error_and_survives_pickling() -> None:
    with pytest.raises(InputError) as caught:
        parse_zon("\n ?")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.line, again.column) == (str(caught.value), 2, 2)


def test_a_long_text_is_read_in_time() -> None:
    started = time.monotonic()
    assert len(parse_zon('"' + "\\n" * 100_000 + '"')) == 100_000
    assert len(parse_zon("\\\\line\n" * 20_000)) == 20_000 * 5 - 1
    assert time.monotonic() - started < 30
