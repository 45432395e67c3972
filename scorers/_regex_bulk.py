"""Patterns of `re` for many texts at once, through the engine of polars, where it surely matches as `re` does.

The other engine (Rust's regex) never sees the user's text: the tree that `re` itself parses is written anew. What a
character class holds is asked of `re`, character by character, so that neither engine's tables nor its rules for
IGNORECASE need be trusted. What is left are sequence, choice, repetition and a few places, all of which both engines
define alike: the first match from the left, earlier choices first. Everything else stays with `re`. That engine takes
time linear in the text, so no limit guards it. Which texts go this way depends on each text alone: a pattern that `re`
finds too slow for one of them must not fail or match by the rows around it.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from scorers._regex_limit import LONGEST_HERE
from scorers._text import is_ascii

LARGEST = 1000  # nodes, repetitions counted; times LONGEST_HERE the most steps of a match, about a second
MOST_CLASSES = 20  # in a pattern for any text: each costs 20 ms once a process, a look at every character
_CLASS_FLAGS = re.IGNORECASE | re.DOTALL | re.ASCII  # those that decide which characters a class holds
_ENDLESS = 2**32 - 1  # what the parser has for no upper bound
_NOTHING = r"[^\x{0}-\x{10FFFF}]"
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


class BulkPattern(NamedTuple):
    """A pattern as the other engine reads it."""

    text: str
    groups: tuple[str, ...]
    """What its groups are called: `g0`, the whole match, then `g<number>` for the named ones in order of name."""
    has_end: bool
    """Whether there is a `$` that for `re` also stands before a final line feed: texts that have one are for `re`."""


class BulkMatches(NamedTuple):
    """The matches of the rows that could be matched in bulk."""

    columns: list[pl.Series]
    """The text of the match, then of the named groups in order of name; null where there is none."""
    left: pl.Series
    """The numbers of the rows that `re` has to match; null in all columns."""


def match_in_bulk(pattern: str, flags: int, texts: pl.Series, *, full_match: bool) -> BulkMatches:
    """Match the texts on which both engines surely agree; for some patterns there are none."""
    left = pl.repeat(True, len(texts), eager=True)
    columns = [_nulls(len(texts)) for _ in ("g0", *_named(pattern, flags))]
    short, plain = texts.str.len_bytes() <= LONGEST_HERE, is_ascii(texts)
    for every, rows in ((False, short & plain), (True, short & ~plain)):
        bulk = bulk_pattern(pattern, flags, full_match=full_match, every=every) if rows.any() else None
        if bulk is not None:
            rows = rows & ~texts.str.ends_with("\n") if bulk.has_end else rows
            columns = [_either(*pair) for pair in zip(columns, _extract(bulk, texts, rows), strict=True)]
            left &= ~rows
    return BulkMatches(columns, left.arg_true())


@lru_cache(maxsize=128)
def bulk_pattern(pattern: str, flags: int, *, full_match: bool, every: bool) -> BulkPattern | None:
    """The pattern for the other engine; None where it might match otherwise, or not at all.

    Args:
        pattern: one that `re` compiles.
        flags: flags of `re`.
        full_match: whether it must match the whole text.
        every: whether texts hold every character, not those of ASCII alone.
    """
    writer = _Writer(re.compile(pattern, flags).flags, _named(pattern, flags), every=every)
    try:
        # The parser is no public part of `re`: where it is missing, or answers another tree, nothing is done in bulk.
        return writer.write(importlib.import_module("re._parser").parse(pattern, flags), full_match)
    except (_UnlikeError, ImportError, AttributeError, TypeError, ValueError, RecursionError):
        return None


def _named(pattern: str, flags: int) -> list[int]:
    """The numbers of the named groups, in order of name."""
    return [number for _, number in sorted(re.compile(pattern, flags).groupindex.items())]


def _extract(bulk: BulkPattern, texts: pl.Series, rows: pl.Series) -> list[pl.Series]:
    chosen = texts if rows.all() else pl.select(pl.when(rows).then(texts)).to_series()
    found = chosen.str.extract_groups(bulk.text).struct
    return [found.field(group) for group in bulk.groups]


def _nulls(count: int) -> pl.Series:
    return pl.repeat(None, count, dtype=pl.String, eager=True)


def _either(first: pl.Series, second: pl.Series) -> pl.Series:
    if first.null_count() == len(first):
        return second
    return pl.select(pl.coalesce(first, second)).to_series()


class _UnlikeError(Exception):
    """The engines might match this otherwise."""


class _Writer:
    """Writes a parsed pattern anew, for texts of ASCII characters alone or of every character."""

    def __init__(self, flags: int, named: list[int], *, every: bool) -> None:
        self._has_end = False
        self._flags = flags
        self._named = named
        self._every = every
        self._size = 0
        self._classes: set[str] = set()

    def write(self, tree: Any, full_match: bool) -> BulkPattern:
        body = f"(?P<g0>{self._sequence(tree, 1)})"
        text = rf"\A{body}\z" if full_match else body
        groups = ("g0", *(f"g{number}" for number in self._named))
        try:
            found = pl.Series([""]).str.extract_groups(text).struct.fields
        except pl.exceptions.PolarsError:  # too large for that engine
            raise _UnlikeError from None
        # It drops groups that can never match.
        if set(found) != set(groups):
            raise _UnlikeError
        return BulkPattern(text, groups, self._has_end)

    def _sequence(self, nodes: Iterable[tuple[object, Any]], times: int) -> str:
        return "".join(self._node(str(kind), value, times) for kind, value in nodes)

    def _node(self, kind: str, value: Any, times: int) -> str:
        """One node, which the repeats around it repeat `times` times."""
        self._size += times
        if self._size > LARGEST:
            raise _UnlikeError
        match kind, value:
            case "BRANCH", (None, choices):
                return f"(?:{'|'.join(self._sequence(choice, times) for choice in choices)})"
            case "SUBPATTERN", (number, 0, 0, body):
                return f"({self._group(number, times)}{self._sequence(body, times)})"
            case (("MAX_REPEAT" | "MIN_REPEAT"), (least, most, body)):
                return self._repeat(body, int(least), int(most), times) + ("?" if kind == "MIN_REPEAT" else "")
            case "AT", place:
                return self._place(str(place))
        return self._class(kind, value)

    def _group(self, number: int | None, times: int) -> str:
        if number not in self._named:
            return "?:"
        # After several rounds `re` may still show what an earlier round matched.
        if times > 1:
            raise _UnlikeError
        return f"?P<g{number}>"

    def _repeat(self, body: Any, least: int, most: int, times: int) -> str:
        # The engines differ in when they leave a loop whose body matched nothing.
        if most > 1 and body.getwidth()[0] == 0:
            raise _UnlikeError
        endless = most == _ENDLESS
        rounds = max(least + 1, 2) if endless else max(most, 1)
        return f"(?:{self._sequence(body, times * rounds)}){{{least},{'' if endless else most}}}"

    def _place(self, place: str) -> str:
        if place == "AT_BOUNDARY" and not self._every:  # beyond ASCII they disagree on what is part of a word
            return r"(?-u:\b)"
        if place == "AT_END" and not self._flags & re.MULTILINE:
            self._has_end = True
            return r"\z"
        multiline = {"AT_BEGINNING": "(?m:^)", "AT_END": "(?m:$)"} if self._flags & re.MULTILINE else {}
        try:
            return ({"AT_BEGINNING": r"\A", "AT_BEGINNING_STRING": r"\A", "AT_END_STRING": r"\z"} | multiline)[place]
        except KeyError:
            raise _UnlikeError from None

    def _class(self, kind: str, value: Any) -> str:
        flags = self._flags & _CLASS_FLAGS
        text = _class_text(kind, value)
        if not self._every:
            return _class_of(text, flags, _ASCII)
        # Where case is ignored every letter is a class.
        if flags & re.IGNORECASE:
            raise _UnlikeError
        if kind == "LITERAL":
            return f"\\x{{{value:x}}}" if _is_character(value) else _NOTHING
        self._classes.add(text)
        if len(self._classes) > MOST_CLASSES:
            raise _UnlikeError
        return _class_of(text, flags, _every_character())


def _is_character(code: int) -> bool:
    return not 0xD800 <= code < 0xE000


def _class_text(kind: str, value: Any) -> str:
    """A class of characters in the language of `re`."""
    match kind, value:
        case "ANY", None:
            return "."
        case "LITERAL", code:
            return f"[{_escape(code)}]"
        case "NOT_LITERAL", code:
            return f"[^{_escape(code)}]"
        case "IN", items:
            return f"[{''.join(_item_text(str(kind), value) for kind, value in items)}]"
    raise _UnlikeError


def _item_text(kind: str, value: Any) -> str:
    match kind, value:
        case "NEGATE", None:
            return "^"
        case "LITERAL", code:
            return _escape(code)
        case "RANGE", (first, last):
            return f"{_escape(first)}-{_escape(last)}"
        case "CATEGORY", category if str(category) in _CATEGORIES:
            return _CATEGORIES[str(category)]
    raise _UnlikeError


def _escape(code: int) -> str:
    return f"\\U{code:08x}"


@lru_cache(maxsize=1024)
def _class_of(text: str, flags: int, characters: str) -> str:
    """Those of `characters`, which are in order, that `re` finds in a class: as a class for the other engine."""
    runs = [found[0] for found in re.finditer(f"{text}+", characters, flags)]
    ranges = [f"\\x{{{ord(run[0]):x}}}-\\x{{{ord(run[-1]):x}}}" for run in runs]
    return f"[{''.join(ranges)}]" if ranges else _NOTHING


@lru_cache(maxsize=1)
def _every_character() -> str:
    """Every character of Unicode that a column of text can hold."""
    codes = np.concatenate([np.arange(0xD800), np.arange(0xE000, sys.maxunicode + 1)])
    return codes.astype("<u4").tobytes().decode("utf-32-le")


_ASCII = "".join(map(chr, range(128)))
