"""What a run amounts to: counts, means and bounds, in which a failed row never vanishes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from pipeline.records.base import Record


class OutputSums(Record):
    """The outputs of some rows, counted."""

    ok: int = 0
    failed_by_owner: dict[str, int] = Field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Rows without an output."""
        return sum(self.failed_by_owner.values())


class ScoreSums(Record):
    """The scores of one scorer on some rows, counted and added up."""

    n: int = 0
    """Rows with a score."""
    total: float | None = 0.0
    """Sum of the scores; null where it is beyond a double."""
    abstained: int = 0
    """Rows for which the scorer gave neither a score nor an error."""
    skipped: int = 0
    """Rows that were not handed to the scorer, for their output failed."""
    failed_by_owner: dict[str, int] = Field(default_factory=dict)
    outside: int = 0
    """Scores outside [0, 1]."""
    minimum: float | None = None
    maximum: float | None = None

    @property
    def failed(self) -> int:
        """Rows on which the scorer failed."""
        return sum(self.failed_by_owner.values())


class PartSums(Record):
    """What a receipt carries of an evaluation's part."""

    output: OutputSums
    scores: dict[str, ScoreSums]


class ScorerSummary(Record):
    """One scorer over all rows of a run."""

    name: str
    n: int
    """Rows with a score: what `mean` is taken over."""
    coverage: float | None
    """n / rows; null without rows."""
    mean: float | None
    lower: float | None
    """The mean if every row without a score had 0; null where the scorer has no bounds."""
    upper: float | None
    """The mean if every row without a score had 1; null where the scorer has no bounds."""
    abstained: int
    skipped: int
    failed: int
    failed_by_owner: dict[str, int]
    outside: int
    minimum: float | None
    maximum: float | None


class OutputSummary(Record):
    """The outputs of all rows of a run."""

    ok: int
    failed: int
    failed_by_owner: dict[str, int]


class Summary(Record):
    """What a run amounts to."""

    rows: int
    output: OutputSummary
    scorers: tuple[ScorerSummary, ...]

    @property
    def failures_by_owner(self) -> dict[str, int]:
        """Failed outputs and failed scores together, by owner."""
        return add_counts([self.output.failed_by_owner, *(scorer.failed_by_owner for scorer in self.scorers)])

    @property
    def failed(self) -> int:
        """Failed outputs and failed scores together."""
        return sum(self.failures_by_owner.values())


def summarise(rows: int, names: Iterable[str], sums: Iterable[Mapping[str, Any]]) -> Summary:
    """Add up the sums of all parts, in part order.

    Args:
        rows: rows of the plan.
        names: the scorers, in order.
        sums: `PartSums` as JSON, one a part.
    """
    parts = [PartSums.model_validate(part) for part in sums]
    outputs = [part.output for part in parts]
    failed = add_counts(output.failed_by_owner for output in outputs)
    return Summary(
        rows=rows,
        output=OutputSummary(
            ok=sum(output.ok for output in outputs), failed=sum(failed.values()), failed_by_owner=failed
        ),
        scorers=tuple(_summarise_scorer(name, rows, [part.scores[name] for part in parts]) for name in names),
    )


def add_counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts by key, added up; keys sorted."""
    total: dict[str, int] = {}
    for count in counts:
        for key, n in count.items():
            total[key] = total.get(key, 0) + n
    return dict(sorted(total.items()))


def _summarise_scorer(name: str, rows: int, parts: list[ScoreSums]) -> ScorerSummary:
    n = sum(part.n for part in parts)
    outside = sum(part.outside for part in parts)
    total = _add_totals(parts)
    bounded = outside == 0 and rows > 0 and total is not None
    failed = add_counts(part.failed_by_owner for part in parts)
    return ScorerSummary(
        name=name,
        n=n,
        coverage=n / rows if rows else None,
        mean=total / n if n and total is not None else None,
        lower=total / rows if bounded and total is not None else None,
        upper=(total + rows - n) / rows if bounded and total is not None else None,
        abstained=sum(part.abstained for part in parts),
        skipped=sum(part.skipped for part in parts),
        failed=sum(failed.values()),
        failed_by_owner=failed,
        outside=outside,
        minimum=min((part.minimum for part in parts if part.minimum is not None), default=None),
        maximum=max((part.maximum for part in parts if part.maximum is not None), default=None),
    )


def _add_totals(parts: list[ScoreSums]) -> float | None:
    totals = [part.total for part in parts]
    if any(total is None for total in totals):
        return None
    try:
        return math.fsum(total for total in totals if total is not None)
    except OverflowError:
        return None
