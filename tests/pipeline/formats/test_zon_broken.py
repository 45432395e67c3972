"""ZON that is broken at every token: an error with line and column, or a value, and never anything else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.formats.zon import ZonError, parse_zon

WHOLE = r"""// A comment.
.{
    .text = "a\n\x41\u{e9}",
    .@"a name" = .@"a value",
    .lines =
        \\first
        \\second
    ,
    .numbers = .{ 1_000, -7, 0xFF, 0o17, 0b10, 1.5e-3, 0x1.8p3, -inf, nan },
    .words = &.{ true, false, null, .train, 'c', '\'' },
    .nested = .{ .{ .b = &.{}, .c = .{} } },
}
"""
TOKEN = re.compile(r'//[^\n]*|\\\\[^\n]*|@?"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z0-9_]+|\S')
TOKENS = [match.span() for match in TOKEN.finditer(WHOLE)]
IN_PLACE = ["", "?", "{", "}", ".", ",", "=", "-", "&", '"', "'", "\\\\", "\\", "@", "1", "x", "\x00", "\t", "///", "é"]


def check(text: str) -> bool:
    """Whether the text is ZON; where it is not, the error must tell where."""
    told: ZonError | None = None
    try:
        parse_zon(text, where="a.zon")
    except ZonError as error:
        told = error
    if told is not None:
        assert str(told).startswith(f"a.zon:{told.line}:{told.column}: ")
        assert 1 <= told.line <= text.count("\n") + 1
        assert 1 <= told.column <= max(map(len, text.split("\n"))) + 1
    return told is None


def test_the_whole_is_whole() -> None:
    assert check(WHOLE)
    assert len(TOKENS) > 90


@pytest.mark.parametrize("span", TOKENS, ids=lambda span: f"{span[0]}-{WHOLE[slice(*span)][:8]!r}")
def test_a_token_that_is_replaced_doubled_or_cut_is_told_or_makes_other_zon(span: tuple[int, int]) -> None:
    start, end = span
    before, token, after = WHOLE[:start], WHOLE[start:end], WHOLE[end:]
    for other in IN_PLACE:
        check(before + other + after)
        check(before + other + token + after)
    check(before + token + token + after)
    for cut in range(start, end):
        assert not check(WHOLE[:cut]) or not WHOLE[:cut].strip("\n")


@given(st.text(st.sampled_from(list(".{}=,&-@\"'\\/\n ax1_0eEpPu\t\r")), max_size=40))
def test_any_text_of_its_letters_is_a_value_or_a_told_error(text: str) -> None:
    check(text)


@given(st.text(max_size=20), st.integers(0, len(WHOLE)))
def test_any_text_anywhere_is_a_value_or_a_told_error(text: str, place: int) -> None:
    check(WHOLE[:place] + text + WHOLE[place:])
