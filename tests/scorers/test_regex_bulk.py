"""The bulk way of `regex_match`: the same results as Python's `re`, for the patterns and texts that it takes."""

from __future__ import annotations

import contextlib
import json
import random
import re
import sys
import types

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorers import regex_match
from scorers._regex_bulk import LARGEST, bulk_pattern, match_in_bulk
from scorers._regex_limit import LONGEST_HERE

FLAGS = [0, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.ASCII, re.IGNORECASE | re.MULTILINE | re.DOTALL]
ALL_ASCII = "".join(map(chr, range(128)))
NOTABLE = 'abAB_1 9k\n\r\x0b\x1c\x1f\x00\x7f"\\sSéſK\x85\u2028²٣№ıİ\u0301\u200d日😀'


def by_python(pattern: str, flags: int, texts: list[str], *, full_match: bool) -> list[list[str | None]]:
    compiled = re.compile(pattern, flags)
    found = [compiled.fullmatch(text) if full_match else compiled.search(text) for text in texts]
    return [[match[group] if match else None for match in found] for group in (0, *sorted(compiled.groupindex))]


def in_bulk(pattern: str, flags: int, texts: list[str], *, full_match: bool) -> tuple[list[list[str | None]], set[int]]:
    found = match_in_bulk(pattern, flags, pl.Series(texts, dtype=pl.String), full_match=full_match)
    return [column.to_list() for column in found.columns], set(found.left.to_list())


def check_alike(pattern: str, flags: int, texts: list[str]) -> None:
    for full_match in (False, True):
        expected = by_python(pattern, flags, texts, full_match=full_match)
        found, left = in_bulk(pattern, flags, texts, full_match=full_match)
        for column, wanted in zip(found, expected, strict=True):
            assert column == [None if row in left else text for row, text in enumerate(wanted)], (pattern, full_match)
        check_scores(pattern, flags, texts, expected, full_match=full_match)


def check_scores(
    pattern: str, flags: int, texts: list[str], expected: list[list[str | None]], *, full_match: bool
) -> None:
    scored = regex_match(pattern, flags=flags, full_match=full_match).score(pa.table({"output": pa.array(texts)}))
    names = sorted(re.compile(pattern, flags).groupindex)
    shown = [
        json.dumps(
            {"groups": dict(zip(names, groups, strict=True)) if match is not None else {}, "match": match},
            separators=(",", ":"),
        )
        for match, *groups in zip(*expected, strict=True)
    ]
    assert scored.metadata.to_pylist() == shown
    assert scored.value.to_pylist() == [float(match is not None) for match in expected[0]]
    assert scored.error.null_count == len(texts)


ATOMS = [
    *"abAkKsSéſı1_ .^$",
    *(rf"\{letter}" for letter in '.n"dDwWsSbBAZ\\'), r"\x1c",
    "[ab]", "[^a]", "[a-c]", r"[^b-k\s]", r"[\w.-]", r"[\W\d]", "[A-Z_]", "[é-ſ]", "[^é]",
    "(?=a)", "(?!a)", "(?<=a)", "(?<!b)", "(?=a)", "ab", "ba",
]  # fmt: skip
REPEATS = ["*", "+", "?", "{2}", "{0,1}", "{1,3}", "{0}", "{2,}", "*?", "+?", "??", "{1,2}?", "{1}", "*+"]


def random_pattern(draw: random.Random, depth: int, names: list[str]) -> str:
    """Any pattern of the grammar; one that `re` refuses is left out by who asks."""
    kind = draw.choice(
        ["atom", "atom", "sequence", "sequence", "choice", "group", "named", "repeat", "repeat", "local"]
    )
    if depth == 0 or kind == "atom":
        return draw.choice(ATOMS)

    def inner() -> str:
        return random_pattern(draw, depth - 1, names)

    if kind == "sequence":
        return "".join(inner() for _ in range(draw.randint(0, 3)))
    if kind == "choice":
        return f"(?:{'|'.join(inner() for _ in range(draw.randint(1, 3)))})"
    if kind == "group":
        return f"({inner()})"
    if kind == "named":
        name = f"{draw.choice('abcdeü')}{len(names)}"
        names.append(name)
        return f"(?P<{name}>{inner()})"
    if kind == "repeat":
        return f"(?:{inner()}){draw.choice(REPEATS)}"
    return draw.choice([f"(?i:{inner()})", f"(?>{inner()})", f"(?={inner()})", inner()])


def random_text(draw: random.Random) -> str:
    letters = draw.choice(["ab", "abA1 \n", 'abkKsS_ .\n\x1c1"\\', NOTABLE])
    return "".join(draw.choice(letters) for _ in range(draw.randint(0, 9)))


@given(seed=st.integers(0, 2**64), flags=st.sampled_from(FLAGS))
@settings(deadline=None, max_examples=300)  # time differs on a busy machine
def test_any_pattern_matches_as_by_python(seed: int, flags: int) -> None:
    draw = random.Random(seed)
    pattern = random_pattern(draw, 4, [])
    try:
        re.compile(pattern, flags)
    except re.error:
        return
    with contextlib.suppress(SystemError):  # a defect of `re` itself, of possessive repeats
        check_alike(pattern, flags, [random_text(draw) for _ in range(12)])


CLASSES = [
    *(rf"\{letter}" for letter in "dDwWsS"), ".", r"[^\s]", r"[^\W_]", r"[\d.-]", "[a-z]", "[^a-z]", "[@-Z]", "[Z-a]",
    "[k]", "[^k]", "k", "s", "K", "ſ", "[é]", "[^é]", "[^\x1c]", r"[\s\S]", r"[^\s\S]", "i", "ı", "İ", "µ", "ß", "ẞ",
]  # fmt: skip


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("pattern", CLASSES)
def test_every_ascii_character_is_in_the_same_classes(pattern: str, flags: int) -> None:
    check_alike(pattern, flags, list(ALL_ASCII))


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("pattern", [r"\b", "^", "$", r"\A", r"\Z", r"\B", "^$", r"\ba\b"])
def test_places_are_alike_between_any_two_ascii_characters(pattern: str, flags: int) -> None:
    texts = ["", *ALL_ASCII, *(first + second for first in ALL_ASCII for second in "a_0 \n\r-")]
    check_alike(pattern, flags, texts)
    check_alike(f".{pattern}", flags, texts)


@pytest.mark.parametrize("pattern", [r"\d", r"\w", r"\s", r"[^\W\d_]", "[à-ÿ]"])
def test_every_character_is_in_the_same_classes(pattern: str) -> None:
    texts = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    found, left = in_bulk(pattern, 0, texts, full_match=False)
    assert found == by_python(pattern, 0, texts, full_match=False)
    assert not left


TAKEN: list[tuple[str, int]] = [
    (r"(?P<number>\d{4,}) (?P<next>[a-m]\w*)", 0),
    (r"answer: (?P<class>yes|no)\b", re.IGNORECASE),
    (r"^\s*(?P<key>[^=\s]+)\s*=\s*(?P<value>.*?)\s*$", re.MULTILINE),
    (r"(?i)the answer is (?P<é>[-+]?\d+(?:\.\d+)?)", 0),
    (r"(a+)+b", 0),
    (r"\d+$", 0),
    (r"# digits \n (?P<d>\d+)", re.VERBOSE),
    ("naïve|日本", 0),
    ("(?P<a>x)?", 0),
]
LEFT = [
    "(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(?P<a>x)(?P=a)", r"(a)\1", "(?>a)", "a++", "(?P<a>x)?(?(a)y|z)",
    "(?i:a)", "(?P<a>x)*", "(?:(?P<a>x)y){2}", "(?P<a>x){0}", "(?:a*)*", r"(?:\b)*", r"(?:|a)+", r"\B", "a{1001}",
    "(?:a{40}){40}",
]  # fmt: skip


@pytest.mark.parametrize("pattern, flags", TAKEN)
def test_ordinary_patterns_are_matched_in_bulk(pattern: str, flags: int) -> None:
    texts = ["", "x = y ", "2024 may", "THE ANSWER IS -4.5, answer: NO", 'say "12"', "aaab", "a\nb=c\\"]
    assert in_bulk(pattern, flags, texts, full_match=False)[1] == set()
    check_alike(pattern, flags, [*texts, "é = ü", "日本 2024 may", "x\n", "12\n"])


@pytest.mark.parametrize("pattern", LEFT)
def test_patterns_on_which_the_engines_may_differ_are_left_to_python(pattern: str) -> None:
    for every in (False, True):
        assert bulk_pattern(pattern, 0, full_match=False, every=every) is None
    check_alike(pattern, 0, ["", "a", "b", "xx", "xyxy", "é", "aaaa"])


@pytest.mark.parametrize(
    "pattern, flags, left",
    [
        ("b", 0, {3}),
        ("b", re.IGNORECASE, {2, 3}),  # every letter would be a class to be looked up
        (r"\bb", 0, {2, 3}),  # what is part of a word differs beyond ASCII
        ("b$", 0, {1, 3}),  # `re` finds it before the final line feed
        ("b$", re.MULTILINE, {3}),
        (r"b\Z", 0, {3}),
    ],
)
def test_it_depends_on_each_text_alone_who_matches_it(pattern: str, flags: int, left: set[int]) -> None:
    texts = ["ab", "ab\n", "éb", "a" * LONGEST_HERE + "b"]
    assert in_bulk(pattern, flags, texts, full_match=False)[1] == left
    for row, text in enumerate(texts):
        assert in_bulk(pattern, flags, [text], full_match=False)[1] == ({0} if row in left else set())


def test_a_pattern_is_never_larger_than_what_bounds_the_time_of_a_match() -> None:
    assert bulk_pattern(f"a{{{LARGEST - 2}}}", 0, full_match=False, every=False) is not None
    assert bulk_pattern(f"a{{{LARGEST}}}", 0, full_match=False, every=False) is None


def test_without_the_parser_of_re_python_matches_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re._parser", types.ModuleType("re._parser"))
    bulk_pattern.cache_clear()
    try:
        assert in_bulk("(?P<x>b)", 0, ["b", "é"], full_match=False) == ([[None, None], [None, None]], {0, 1})
    finally:
        bulk_pattern.cache_clear()
