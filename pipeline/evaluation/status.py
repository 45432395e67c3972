"""Where a run stands, told from what is on the store alone."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import NamedTuple

from pipeline.evaluation.catalog import Catalog
from pipeline.records.evaluation import AttemptEnded, AttemptStarted, EvaluationRunStatus, Heartbeat, Outcome

FRESH_S = 120.0  # a heartbeat older than this belongs to a process that is gone
driven_here: set[tuple[str, int]] = set()
"""Attempts that this process drives, by run and number. Others of its own are over, where it could not write so."""


class RunState(NamedTuple):
    """Where a run stands."""

    status: EvaluationRunStatus
    attempt: AttemptStarted | None
    ended: AttemptEnded | None
    heartbeat: Heartbeat | None
    outcome: Outcome | None

    @property
    def error_message(self) -> str | None:
        """Why the run is not a success; None where it is, or goes on."""
        if self.status is not EvaluationRunStatus.FAILED and self.status is not EvaluationRunStatus.CANCELED:
            return None
        if self.ended is not None:
            return self.ended.error_message
        return "interrupted: the process that drove it is gone; run the same command again, or resume it"


def read_state(catalog: Catalog, run_id: str, *, now: datetime | None = None) -> RunState:
    """The state of a run: the outcome if there is one, else that of the last attempt."""
    # Looked at first, and again before the end is read: an attempt that ends meanwhile is not one whose driver died.
    before = frozenset(driven_here)
    outcome = catalog.outcome(run_id)
    attempt = catalog.last_attempt(run_id)
    if attempt is None:
        status = EvaluationRunStatus.SUCCEEDED if outcome else EvaluationRunStatus.PENDING
        return RunState(status, None, None, None, outcome)
    driven = (run_id, attempt.attempt) in before | driven_here
    ended = catalog.ended(run_id, attempt.attempt)
    if outcome is None and ended is not None and ended.status is EvaluationRunStatus.SUCCEEDED:
        outcome = catalog.outcome(run_id)  # written before that end, and after it was looked for
    heartbeat = catalog.heartbeat(run_id, attempt.attempt)
    status = _status(attempt, ended, heartbeat, outcome, now or datetime.now(UTC), driven=driven)
    return RunState(status, attempt, ended, heartbeat, outcome)


def _status(
    attempt: AttemptStarted,
    ended: AttemptEnded | None,
    heartbeat: Heartbeat | None,
    outcome: Outcome | None,
    now: datetime,
    *,
    driven: bool,
) -> EvaluationRunStatus:
    if outcome is not None:
        return EvaluationRunStatus.SUCCEEDED
    if ended is not None:
        return ended.status
    if _is_gone(attempt, driven):
        return EvaluationRunStatus.FAILED
    sign = heartbeat.at if heartbeat else attempt.started_at
    if (now - datetime.fromisoformat(sign)).total_seconds() > FRESH_S:
        return EvaluationRunStatus.FAILED
    return heartbeat.status if heartbeat else EvaluationRunStatus.RUNNING


def _is_gone(attempt: AttemptStarted, driven: bool) -> bool:
    """Whether the driver is known to be dead: only a process of this host can be known of.

    Args:
        driven: by this process.
    """
    if attempt.host != socket.gethostname():
        return False
    if attempt.pid == os.getpid():
        return not driven
    try:
        os.kill(attempt.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # alive, and somebody else's
        return False
    return False
