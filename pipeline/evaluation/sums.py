"""Counts and sums of one part, for its receipt: all that the driver ever sees of the rows."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.evaluation.score_rows import ScoredRows
from pipeline.records.summary import OutputSums, ScoreSums


def output_sums(error: pa.Array, owner: pa.Array) -> OutputSums:
    """Count the outputs of a part."""
    return OutputSums(ok=error.null_count, failed_by_owner=_count_by_owner(owner))


def score_sums(scored: ScoredRows, output_error: pa.Array) -> ScoreSums:
    """Count and add up the scores of one scorer on a part."""
    value = scored.value
    n = len(value) - value.null_count
    failed = _count_by_owner(scored.owner)
    skipped = len(output_error) - output_error.null_count
    bounds = pc.min_max(value).as_py()
    outside = pc.sum(pc.or_(pc.less(value, 0.0), pc.greater(value, 1.0))).as_py() or 0
    total = pc.sum(value).as_py() if n else 0.0
    return ScoreSums(
        n=n,
        total=total if math.isfinite(total) else None,
        abstained=value.null_count - skipped - sum(failed.values()),
        skipped=skipped,
        failed_by_owner=failed,
        outside=outside,
        minimum=bounds["min"],
        maximum=bounds["max"],
    )


def _count_by_owner(owner: pa.Array) -> dict[str, int]:
    if owner.null_count == len(owner):
        return {}
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(pc.drop_null(owner)).to_pylist()}
    return dict(sorted(counts.items()))
