"""How far a run is: counted from receipts, for terminals, heartbeats and callers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.records.evaluation import EvaluationRunStatus
from pipeline.records.plan import Plan, Receipt
from pipeline.records.summary import PartSums, add_counts


class RunProgress(NamedTuple):
    """How far a run is."""

    status: EvaluationRunStatus
    parts: int
    parts_done: int
    rows: int
    rows_done: int
    failures: dict[str, int]
    """Failed outputs and scores so far, by owner."""
    elapsed_s: float
    """Since this attempt began to read."""
    rate: float | None
    """Rows a second in this attempt, those in work among them; None before the first."""
    eta_s: float | None
    """Seconds to go at that rate; None while it is not known."""
    rows_in_work: int = 0
    """Of parts that are not done: rows that are, about. A kill may lose them."""
    tried_again: int = 0
    """How often a part, or a piece of one, was lost with its worker or failed for a moment."""


OnProgress = Callable[[RunProgress], None]


@dataclass
class ProgressCounter:
    """Adds up receipts. Its clock is monotonic seconds."""

    plan: Plan
    clock: Callable[[], float] = time.monotonic
    status: EvaluationRunStatus = EvaluationRunStatus.PENDING
    failures: dict[str, int] = field(default_factory=dict)
    parts_done: int = 0
    rows_done: int = 0
    rows_in_work: int = 0
    tried_again: int = 0
    _rows_before: int = 0
    _started_at: float | None = None

    def start(self) -> None:
        """The first part is about to be read."""
        self._started_at = self.clock()
        self.status = EvaluationRunStatus.RUNNING

    def add(self, receipt: Receipt, *, earlier: bool = False) -> None:
        """Count a part; `earlier`: it was done by an attempt before this one."""
        sums = PartSums.model_validate(receipt.sums)
        self.parts_done += 1
        self.rows_done += receipt.rows
        self._rows_before += receipt.rows if earlier else 0
        self.rows_in_work = max(0, self.rows_in_work - receipt.rows)
        owners = [sums.output.failed_by_owner, *(score.failed_by_owner for score in sums.scores.values())]
        self.failures = add_counts([self.failures, *owners])

    @property
    def elapsed_s(self) -> float:
        """Seconds since `start`; 0 before it."""
        return 0.0 if self._started_at is None else self.clock() - self._started_at

    def now(self) -> RunProgress:
        """The state of this moment."""
        elapsed = self.elapsed_s
        done = self.rows_done + self.rows_in_work
        done_here = done - self._rows_before
        rate = done_here / elapsed if done_here and elapsed > 0 else None
        eta = (self.plan.rows - done) / rate if rate else None
        return RunProgress(
            status=self.status,
            parts=len(self.plan.parts),
            parts_done=self.parts_done,
            rows=self.plan.rows,
            rows_done=self.rows_done,
            rows_in_work=self.rows_in_work,
            tried_again=self.tried_again,
            failures=dict(self.failures),
            elapsed_s=elapsed,
            rate=rate,
            eta_s=eta,
        )
