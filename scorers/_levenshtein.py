"""`levenshtein`: edit distance, as a similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa
from rapidfuzz.distance import Levenshtein as Distance
from rapidfuzz.process import cpdist

from scorers._builtin import PAIR, Builtin, check_flag, check_function_options, check_inputs, check_name, scored
from scorers._text import fold
from scorers.base import ScoreColumns


@dataclass(frozen=True, kw_only=True)
class Levenshtein(Builtin):
    """1 - distance / length of the longer text; 1.0 where both are empty."""

    builtin: ClassVar[str] = "levenshtein"
    revision: ClassVar[int] = 1

    case_insensitive: bool

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row; a missing column is a TypeError."""
        candidate, reference = self.stripped_texts(rows)
        if self.case_insensitive:
            candidate, reference = fold(candidate), fold(reference)
        distance = _distances(candidate, reference)
        longest = pl.max_horizontal(candidate.str.len_chars(), reference.str.len_chars(), pl.lit(1))
        frame = pl.select(
            (1.0 - distance.cast(pl.Float64) / longest).alias("value"),
            pl.concat_str(pl.lit('{"distance":'), distance.cast(pl.String), pl.lit("}")).alias("metadata"),
        )
        return scored(frame["value"], frame["metadata"])


def levenshtein(
    *,
    name: str = "levenshtein",
    inputs: Sequence[str] = ("output", "expected"),
    case_insensitive: bool = False,
    **function_options: Any,
) -> Levenshtein:
    """How near two texts are by edit distance over characters. Metadata: `{"distance": int}`.

    Args:
        name: labels the result columns.
        inputs: the candidate's column, then the reference's; whitespace around the texts is left out.
        case_insensitive: compare with `str.casefold`.
        function_options: resources and limits, as of any function.
    """
    return Levenshtein(
        name=check_name(name),
        inputs=check_inputs(inputs, PAIR),
        function_options=check_function_options(function_options, Levenshtein),
        case_insensitive=check_flag("case_insensitive", case_insensitive),
    )


def _distances(candidate: pl.Series, reference: pl.Series) -> pl.Series:
    """Edit distances. Only texts that differ are read into Python, which takes longer than to compare equal ones."""
    distances = pl.zeros(len(candidate), pl.Int64, eager=True)
    rows = (candidate != reference).arg_true()
    found = cpdist(candidate.gather(rows).to_list(), reference.gather(rows).to_list(), scorer=Distance.distance)
    return distances.scatter(rows, pl.Series(found, dtype=pl.Int64))
