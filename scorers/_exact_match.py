"""`exact_match`: whether two texts are equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scorers._builtin import PAIR, Builtin, check_flag, check_function_options, check_inputs, check_name, scored
from scorers._text import collapse_whitespace, fold
from scorers.base import TEXT_TYPE, ScoreColumns


@dataclass(frozen=True, kw_only=True)
class ExactMatch(Builtin):
    """1.0 where the two texts are equal, else 0.0."""

    builtin: ClassVar[str] = "exact_match"
    revision: ClassVar[int] = 1

    case_insensitive: bool
    strip: bool
    normalize_whitespace: bool

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row; a missing column is a TypeError."""
        texts = self.stripped_texts(rows) if self.strip else self.texts(rows)
        candidate, reference = (self._prepared(text) for text in texts)
        equal = (candidate == reference).to_arrow()
        return scored(equal, pc.if_else(equal, _MATCHED, _NOT_MATCHED))

    def _prepared(self, texts: pl.Series) -> pl.Series:
        if self.normalize_whitespace:
            texts = collapse_whitespace(texts)
        return fold(texts) if self.case_insensitive else texts


def exact_match(
    *,
    name: str = "exact-match",
    inputs: Sequence[str] = ("output", "expected"),
    case_insensitive: bool = False,
    strip: bool = True,
    normalize_whitespace: bool = False,
    **function_options: Any,
) -> ExactMatch:
    """Whether candidate and reference are the same text. Metadata: `{"matched": bool}`.

    Args:
        name: labels the result columns.
        inputs: the candidate's column, then the reference's.
        case_insensitive: compare with `str.casefold`.
        strip: leave out whitespace around the texts.
        normalize_whitespace: take every run of whitespace for one space, and none around the texts.
        function_options: resources and limits, as of any function.
    """
    return ExactMatch(
        name=check_name(name),
        inputs=check_inputs(inputs, PAIR),
        function_options=check_function_options(function_options, ExactMatch),
        case_insensitive=check_flag("case_insensitive", case_insensitive),
        strip=check_flag("strip", strip),
        normalize_whitespace=check_flag("normalize_whitespace", normalize_whitespace),
    )


_MATCHED = pa.scalar('{"matched":true}', TEXT_TYPE)
_NOT_MATCHED = pa.scalar('{"matched":false}', TEXT_TYPE)
