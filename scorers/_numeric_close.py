"""`numeric_close`: how near two numbers are."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from scorers._builtin import PAIR, Builtin, check_flag, check_function_options, check_inputs, check_name, scored
from scorers._json_text import json_floats, json_strings
from scorers._text import strip, text_of
from scorers.base import ScoreColumns


@dataclass(frozen=True, kw_only=True)
class NumericClose(Builtin):
    """1.0 within the tolerance, else 0.0; without a tolerance, 1 minus the relative difference."""

    builtin: ClassVar[str] = "numeric_close"
    revision: ClassVar[int] = 1

    tolerance: float | None
    relative: bool

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row; a missing column is a TypeError."""
        columns = self.columns(rows)
        left, right = (_floats(column) for column in columns)
        bad = left.is_null() | right.is_null()
        # Computed as Python computes it, infinities included; rows that are no numbers are put right below.
        value = self._closeness(left, right)
        difference = left - right
        shown = pl.select(
            pl.when(difference.is_finite()).then(json_floats(difference.fill_null(0.0))).otherwise(pl.lit("null"))
        )
        metadata = pl.select(pl.format("{}{}{}", pl.lit('{"difference":'), shown.to_series(), pl.lit("}"))).to_series()
        if bad.any():
            failed = bad.arg_true()
            value = value.scatter(failed, 0.0)
            metadata = metadata.scatter(failed, self._complaints(columns, left, failed))
        return scored(value, metadata)

    def _closeness(self, left: pl.Series, right: pl.Series) -> pl.Series:
        gap = (left - right).abs()
        largest = pl.select(pl.max_horizontal(left.abs(), right.abs())).to_series()
        if self.tolerance is None:
            near = 1.0 - pl.select(pl.min_horizontal(pl.lit(1.0), gap / largest)).to_series()
            return pl.select(pl.when(largest == 0.0).then(1.0).otherwise(near)).to_series()
        allowed = largest * self.tolerance if self.relative else self.tolerance
        return (gap <= allowed).cast(pl.Float64)

    def _complaints(self, columns: list[pa.ChunkedArray], left: pl.Series, rows: pl.Series) -> pl.Series:
        """What is wrong in each of `rows`: the candidate where it is no number, else the reference."""
        first, second = (text_of(column).gather(rows) for column in columns)
        is_first = left.gather(rows).is_null()
        names = [pl.lit(f"{name}: not a finite number: ") for name in self.inputs]
        text = pl.when(is_first).then(pl.format("{}{}", names[0], first)).otherwise(pl.format("{}{}", names[1], second))
        quoted = json_strings(pl.select(text).to_series())
        return pl.select(pl.format("{}{}{}", pl.lit('{"error":'), quoted, pl.lit("}"))).to_series()


def numeric_close(
    *,
    name: str = "numeric-close",
    inputs: Sequence[str] = ("output", "expected"),
    tolerance: float | None = None,
    relative: bool = False,
    **function_options: Any,
) -> NumericClose:
    """How near two numbers are, as doubles. Metadata: `{"difference": float}`, or `{"error": text}`.

    A side that is no finite number scores 0.0. A difference beyond a double is null in the metadata.

    Args:
        name: labels the result columns.
        inputs: the candidate's column, then the reference's; text is read as Python's `float` reads it.
        tolerance: the largest difference that scores 1.0; None: 1 minus the difference by the larger of the two.
        relative: whether `tolerance` is a share of the larger of the two.
        function_options: resources and limits, as of any function.
    """
    return NumericClose(
        name=check_name(name),
        inputs=check_inputs(inputs, PAIR),
        function_options=check_function_options(function_options, NumericClose),
        tolerance=_checked_tolerance(tolerance),
        relative=check_flag("relative", relative),
    )


def _checked_tolerance(tolerance: object) -> float | None:
    if tolerance is None:
        return None
    if isinstance(tolerance, bool) or not isinstance(tolerance, numbers.Real):
        raise TypeError(f"tolerance must be a number or None, found {tolerance!r}")
    try:
        value = float(tolerance)
    except OverflowError:
        value = math.inf
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"tolerance must be finite and at least 0, found {tolerance!r}")
    return value


_PLAIN_NUMBER = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
"""Text that polars and Python read alike; what else Python reads (underscores, other digits) is left to Python."""


def _floats(column: pa.ChunkedArray) -> pl.Series:
    """`float(text)` of each value's text; null where that is no finite number."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers_ = pl.Series(column.cast(pa.float64(), safe=False).to_pylist(), dtype=pl.Float64)
    else:
        texts = strip(text_of(column))
        plain = texts.str.contains(_PLAIN_NUMBER)
        numbers_ = pl.select(pl.when(plain).then(texts.cast(pl.Float64, strict=False))).to_series()
        rest = (~plain & (texts != "")).arg_true()
        if len(rest):
            numbers_ = numbers_.scatter(rest, pl.Series(map(_float, texts.gather(rest)), dtype=pl.Float64))
    return pl.select(pl.when(numbers_.is_finite()).then(numbers_)).to_series()


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
