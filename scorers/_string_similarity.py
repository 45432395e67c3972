"""`string_similarity`: several measures of how alike two texts are."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa
from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler
from rapidfuzz.process import cpdist

from scorers._builtin import (
    PAIR,
    Builtin,
    check_choice,
    check_flag,
    check_function_options,
    check_inputs,
    check_name,
    scored,
)
from scorers._json_text import json_floats
from scorers._text import collapse_whitespace, fold
from scorers.base import ScoreColumns

UNITS = ("word", "char")


@dataclass(frozen=True, kw_only=True)
class StringSimilarity(Builtin):
    """The similarity of two texts by one method, in [0, 1]."""

    builtin: ClassVar[str] = "string_similarity"
    revision: ClassVar[int] = 1

    method: str
    case_insensitive: bool
    unit: str

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row; a missing column is a TypeError."""
        candidate, reference = self.stripped_texts(rows)
        if self.case_insensitive:
            candidate, reference = fold(candidate), fold(reference)
        if self.method == "jaccard":
            ratio = _jaccard(candidate, reference, self.unit)
        else:
            ratio = _MEASURES[self.method](candidate, reference)
        both, one = (candidate == "") & (reference == ""), (candidate == "") | (reference == "")
        value = pl.select(pl.when(both).then(1.0).when(one).then(0.0).otherwise(ratio)).to_series()
        start = pl.lit(f'{{"method":"{self.method}","ratio":')
        return scored(value, pl.select(pl.format("{}{}{}", start, json_floats(value), pl.lit("}"))).to_series())


def string_similarity(
    method: str,
    *,
    name: str | None = None,
    inputs: Sequence[str] = ("output", "expected"),
    case_insensitive: bool = False,
    unit: str = "word",
    **function_options: Any,
) -> StringSimilarity:
    """How alike two texts are. Metadata: `{"method": text, "ratio": float}`.

    Both texts empty: 1.0; one of them: 0.0.

    Args:
        method: `jaro_winkler`; `jaccard`, shared words of all words; `token_set`, `token_sort`, `partial`, the ratios
            of that name of rapidfuzz; `sequence`, difflib's ratio without its junk rule (slow: one row at a time).
        name: labels the result columns; by default the method with hyphens.
        inputs: the candidate's column, then the reference's; whitespace around the texts is left out.
        case_insensitive: compare with `str.casefold`.
        unit: `char` makes jaccard compare sets of characters in place of words.
        function_options: resources and limits, as of any function.
    """
    method = check_choice("method", method, METHODS)
    if check_choice("unit", unit, UNITS) != "word" and method != "jaccard":
        raise ValueError(f"unit={unit!r} belongs to the method jaccard; leave it out with {method}")
    return StringSimilarity(
        name=check_name(method.replace("_", "-") if name is None else name),
        inputs=check_inputs(inputs, PAIR),
        function_options=check_function_options(function_options, StringSimilarity),
        method=method,
        case_insensitive=check_flag("case_insensitive", case_insensitive),
        unit=unit,
    )


def _bulk(scorer: Callable[..., float], scale: float) -> Callable[[pl.Series, pl.Series], pl.Series]:
    def measure(candidate: pl.Series, reference: pl.Series) -> pl.Series:
        ratios = cpdist(candidate.to_list(), reference.to_list(), scorer=scorer, dtype="float64")
        return pl.Series(ratios, dtype=pl.Float64) / scale

    return measure


def _sequence(candidate: pl.Series, reference: pl.Series) -> pl.Series:
    pairs = zip(candidate.to_list(), reference.to_list(), strict=True)
    ratios = [difflib.SequenceMatcher(None, a, b, autojunk=False).ratio() for a, b in pairs]
    return pl.Series(ratios, dtype=pl.Float64)


def _jaccard(candidate: pl.Series, reference: pl.Series, unit: str) -> pl.Series:
    first, second = _members(candidate, unit), _members(reference, unit)
    shared = first.list.set_intersection(second).list.len()
    union = first.list.set_union(second).list.len()
    return shared / union


def _members(texts: pl.Series, unit: str) -> pl.Series:
    return texts.str.split("") if unit == "char" else collapse_whitespace(texts).str.split(" ")


_MEASURES = {
    "jaro_winkler": _bulk(JaroWinkler.normalized_similarity, 1.0),
    "token_set": _bulk(fuzz.token_set_ratio, 100.0),
    "token_sort": _bulk(fuzz.token_sort_ratio, 100.0),
    "partial": _bulk(fuzz.partial_ratio, 100.0),
    "sequence": _sequence,
}
METHODS = ("jaro_winkler", "jaccard", "token_set", "token_sort", "partial", "sequence")
