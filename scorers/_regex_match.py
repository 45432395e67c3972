"""`regex_match`: whether a pattern matches a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from scorers._builtin import Builtin, check_flag, check_function_options, check_inputs, check_name, scored
from scorers._json_text import json_escaped
from scorers._regex_bulk import match_in_bulk
from scorers._regex_child import Request
from scorers._regex_limit import Answer, TooLargeError, TooSlowError, match_within
from scorers.base import ScoreColumns

ROW_LIMIT_S = 1.0  # CPU time; a sound pattern takes microseconds on a text
CHUNK_ROWS = 4096  # matched under one limit, since setting it costs as much as a match; row by row where it is reached


@dataclass(frozen=True, kw_only=True)
class RegexMatch(Builtin):
    """1.0 where the pattern matches, else 0.0."""

    builtin: ClassVar[str] = "regex_match"
    revision: ClassVar[int] = 1

    pattern: str
    flags: int
    full_match: bool

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row; a missing column is a TypeError. A row on which the pattern takes too long gets an error."""
        [texts] = self.texts(rows)
        columns, left = match_in_bulk(self.pattern, self.flags, texts, full_match=self.full_match)
        if not len(left):
            return self._scored(columns[0], columns[1:], {})
        found, errors = self._one_by_one(texts.gather(left).to_list())
        columns = [
            column.scatter(left, pl.Series(more, dtype=pl.String)) for column, more in zip(columns, found, strict=True)
        ]
        return self._scored(columns[0], columns[1:], {left[at]: error for at, error in errors.items()})

    def _one_by_one(self, texts: list[str]) -> tuple[Answer, dict[int, str]]:
        columns: Answer = [[] for _ in range(1 + len(self._groups()))]
        errors: dict[int, str] = {}
        for found, error in self._chunks(texts):
            if error is not None:
                errors[len(columns[0])] = error
            for column, more in zip(columns, found, strict=True):
                column.extend(more)
        return columns, errors

    def _groups(self) -> list[str]:
        return sorted(re.compile(self.pattern, self.flags).groupindex)

    def _chunks(self, texts: list[str]) -> Iterator[tuple[Answer, str | None]]:
        """The matches of some rows each, and the error of one that has none."""
        for start in range(0, len(texts), CHUNK_ROWS):
            chunk = texts[start : start + CHUNK_ROWS]
            try:
                yield self._match(chunk), None
            except (TooSlowError, TooLargeError):
                yield from map(self._row, chunk)

    def _row(self, text: str) -> tuple[Answer, str | None]:
        nothing: Answer = [[None] for _ in range(1 + len(self._groups()))]
        try:
            return self._match([text]), None
        except TooSlowError:
            return nothing, f"the pattern took longer than {ROW_LIMIT_S:g} s on this text"
        except TooLargeError as error:
            return nothing, str(error)

    def _match(self, texts: list[str]) -> Answer:
        return match_within(Request(self.pattern, self.flags, self.full_match, texts, ROW_LIMIT_S))

    def _scored(self, match: pl.Series, groups: list[pl.Series], errors: dict[int, str]) -> ScoreColumns:
        value = match.is_not_null().cast(pl.Float64)
        metadata = _metadata(match, dict(zip(self._groups(), groups, strict=True)))
        if not errors:
            return scored(value, metadata)
        rows = list(errors)
        error = pl.repeat(None, len(match), dtype=pl.String, eager=True).scatter(rows, list(errors.values()))
        return scored(value.scatter(rows, None), metadata.scatter(rows, None), error)


def regex_match(
    pattern: str,
    *,
    name: str = "regex-match",
    inputs: Sequence[str] = ("output",),
    flags: int = 0,
    full_match: bool = False,
    **function_options: Any,
) -> RegexMatch:
    """Whether a pattern of Python's `re` matches. Metadata: `{"match": text or null, "groups": {name: text or null}}`.

    A pattern that takes longer than one second of CPU time on a text gives that row an error.

    Args:
        pattern: the regular expression. The text is not stripped.
        name: labels the result columns.
        inputs: the column.
        flags: flags of `re`, such as `re.IGNORECASE`.
        full_match: whether the whole text must match, not some place in it.
        function_options: resources and limits, as of any function.
    """
    return RegexMatch(
        name=check_name(name),
        inputs=check_inputs(inputs, 1),
        function_options=check_function_options(function_options, RegexMatch),
        pattern=_checked_pattern(pattern, flags),
        flags=int(flags),
        full_match=check_flag("full_match", full_match),
    )


def _checked_pattern(pattern: object, flags: object) -> str:
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be text, found {pattern!r}")
    if isinstance(flags, bool) or not isinstance(flags, int):
        raise TypeError(f"flags must be flags of re, such as re.IGNORECASE, found {flags!r}")
    if flags & re.DEBUG:
        raise ValueError("re.DEBUG prints and scores nothing; leave it out")
    try:
        re.compile(pattern, flags)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"pattern {pattern!r} is no regular expression: {error}") from error
    return pattern


def _metadata(match: pl.Series, groups: dict[str, pl.Series]) -> pl.Series:
    pieces: list[pl.Expr | pl.Series] = [pl.lit('{"groups":{')]
    for name, texts in groups.items():
        start, text = f"{',' if len(pieces) > 1 else ''}{json.dumps(name)}:", json_escaped(texts)
        if texts.null_count() == match.null_count():  # in every match
            pieces += [pl.lit(f'{start}"'), text, pl.lit('"')]
        else:
            pieces += [pl.lit(start), pl.concat_str(pl.lit('"'), text, pl.lit('"')).fill_null("null")]
    pieces += [pl.lit('},"match":"'), json_escaped(match), pl.lit('"}')]
    return pl.select(pl.concat_str(pieces).fill_null('{"groups":{},"match":null}')).to_series()
