"""Counts and sums of one part, for its receipt: all that the driver ever sees of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.evaluation.score_rows import ScoredRows
from pipeline.records.summary import OutputSums, PartSums, ScoreSums, add_counts


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


def join_sums(steps: Sequence[PartSums], values: Mapping[str, Sequence[pa.Array]]) -> PartSums:
    """The sums of a part that was worked on in steps: what one step would have made of it, to the last bit.

    Args:
        steps: the sums of each; at least one.
        values: by scorer, its scores of each step: added up anew, as sums of floats depend on how they are cut.
    """
    if len(steps) == 1:
        return steps[0]
    outputs = [step.output for step in steps]
    return PartSums(
        output=OutputSums(
            ok=sum(output.ok for output in outputs),
            failed_by_owner=add_counts(output.failed_by_owner for output in outputs),
        ),
        scores={name: _join_scores([step.scores[name] for step in steps], arrays) for name, arrays in values.items()},
    )


def _join_scores(steps: Sequence[ScoreSums], values: Sequence[pa.Array]) -> ScoreSums:
    total = pc.sum(pa.concat_arrays(values)).as_py() or 0.0
    return ScoreSums(
        n=sum(step.n for step in steps),
        total=total if math.isfinite(total) else None,
        abstained=sum(step.abstained for step in steps),
        skipped=sum(step.skipped for step in steps),
        failed_by_owner=add_counts(step.failed_by_owner for step in steps),
        outside=sum(step.outside for step in steps),
        minimum=min((step.minimum for step in steps if step.minimum is not None), default=None),
        maximum=max((step.maximum for step in steps if step.maximum is not None), default=None),
    )


def _count_by_owner(owner: pa.Array) -> dict[str, int]:
    if owner.null_count == len(owner):
        return {}
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(pc.drop_null(owner)).to_pylist()}
    return dict(sorted(counts.items()))
