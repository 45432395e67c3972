"""One scorer over some rows: its columns, and the owner of each failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.engine import LostServiceError
from pipeline.records import columns
from pipeline.records.evaluation import ScorerRecord
from pipeline.records.owners import Owner
from scorers.base import ScoreColumns, Scorer


class OwnedScores(NamedTuple):
    """What a scorer made of the rows that it was handed."""

    scores: ScoreColumns
    owner: pa.Array
    """Text; null where scoring did not fail."""


class ScoredRows(NamedTuple):
    """One scorer's columns, one entry for every row, also for those it was not handed."""

    value: pa.Array
    error: pa.Array
    metadata: pa.Array
    values: pa.Array | None
    owner: pa.Array

    def columns(self, record: ScorerRecord) -> list[pa.Array]:
        """The arrays of `records.columns.scorer_fields`, in that order."""
        arrays = [self.value]
        if record.sql_expression is None:
            arrays += [self.error, self.metadata]
        if record.emits_list:
            arrays.append(self.values if self.values is not None else pa.nulls(len(self.value), columns.VALUES))
        return arrays


def score_rows(
    score: Callable[[pa.Table], OwnedScores], record: ScorerRecord, rows: pa.Table, left_out: pa.Array
) -> ScoredRows:
    """Score the rows that have an output; a scorer that breaks as a whole fails on each of them.

    Args:
        score: scores `rows`.
        record: the scorer's pins.
        rows: the rows that have an output.
        left_out: bool, one entry for every row of the slice; true where it is not in `rows`.
    """
    try:
        scored, owner = score(rows)
        _check_lengths(scored, rows.num_rows)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit, LostServiceError)):
            raise  # of the run, not of the scorer: the rows are tried again
        message = f"{type(error).__name__}: {error}"
        scored, owner = _failed_everywhere(message, rows.num_rows)
    places = _places(left_out)
    values = None if scored.values is None else _spread(scored.values, places)
    return ScoredRows(
        _spread(scored.value, places),
        _spread(scored.error, places),
        _spread(scored.metadata, places),
        values if record.emits_list else None,
        _spread(owner, places),
    )


def scatter_sql(value: pa.Array, failed: pa.Array, left_out: pa.Array) -> ScoredRows:
    """The columns of one SQL scorer for every row; a failure's owner is the judge."""
    places = _places(left_out)
    owner = pc.if_else(failed, pa.scalar(Owner.JUDGE.value), pa.scalar(None, pa.string()))
    n = len(left_out)
    return ScoredRows(
        _spread(value, places), pa.nulls(n, columns.TEXT), pa.nulls(n, columns.TEXT), None, _spread(owner, places)
    )


def owned_scores(scorer: Scorer, rows: pa.Table) -> OwnedScores:
    """The scores of a scorer whose failures are its own: their owner is the judge."""
    scored = scorer.score(rows)
    owner = pc.if_else(pc.is_valid(scored.error), pa.scalar(Owner.JUDGE.value), pa.scalar(None, pa.string()))
    return OwnedScores(scored, owner)


def _check_lengths(scored: ScoreColumns, n_rows: int) -> None:
    for name in ("value", "error", "metadata"):
        found = len(getattr(scored, name))
        if found != n_rows:
            raise ValueError(f"the scorer returned {found} entries in {name} for {n_rows} rows")


def _failed_everywhere(message: str, n_rows: int) -> tuple[ScoreColumns, pa.Array]:
    failed = ScoreColumns(
        value=pa.nulls(n_rows, pa.float64()),
        error=pa.repeat(pa.scalar(message, columns.TEXT), n_rows),
        metadata=pa.nulls(n_rows, columns.TEXT),
    )
    return failed, pa.repeat(pa.scalar(Owner.JUDGE.value), n_rows)


def _places(left_out: pa.Array) -> pa.Array | None:
    """For every row its position among the rows that were handed over, null where it was not; None: all were."""
    if not pc.any(left_out).as_py():
        return None
    handed = pc.cumulative_sum(pc.cast(pc.invert(left_out), pa.int64()))
    return pc.if_else(left_out, pa.scalar(None, pa.int64()), pc.subtract(handed, 1))


def _spread(array: pa.Array, places: pa.Array | None) -> pa.Array:
    return array if places is None else array.take(places)
