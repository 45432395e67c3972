"""One process's attempt at a run: a number of its own, a sign of life, and how it ended."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from pipeline.engine import StopSignal
from pipeline.errors import EvaluationError, StoreError
from pipeline.evaluation.catalog import Catalog, utc_now
from pipeline.evaluation.progress import ProgressCounter
from pipeline.evaluation.status import RunState, driven_here, read_state
from pipeline.records.evaluation import AttemptEnded, AttemptStarted, EvaluationRunStatus, Heartbeat

BEAT_S = 5.0  # seconds between two signs of life, and between two looks for a cancel request


class Attempt:
    """A context: claims the next number, beats while it is open. `end` says how it ended, before it is left."""

    def __init__(
        self,
        catalog: Catalog,
        run_id: str,
        counter: ProgressCounter,
        stop: StopSignal,
        *,
        engine: str,
        beat_s: float = BEAT_S,
    ) -> None:
        self._catalog, self._run_id, self._counter, self._stop = catalog, run_id, counter, stop
        self._engine, self._beat_s = engine, beat_s
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"assay-heartbeat-{run_id}", daemon=True)
        self.number = 0

    def __enter__(self) -> Self:
        number = 1
        last = self._catalog.last_attempt(self._run_id)
        if last is not None:
            number = last.attempt + 1
        while not self._claim(number):
            number += 1
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closed.set()
        # A sign of life that hangs is not waited for: one that comes late changes nothing.
        self._thread.join(self._beat_s)
        driven_here.discard(self._mark)

    @property
    def _mark(self) -> tuple[str, int]:
        return self._run_id, self.number

    def _claim(self, number: int) -> bool:
        self.number, is_mine = number, False
        driven_here.add(self._mark)
        try:
            is_mine = self._catalog.start_attempt(self._run_id, self._started(number))
        finally:
            if not is_mine:
                driven_here.discard(self._mark)
        return is_mine

    def end(self, status: EvaluationRunStatus, error_message: str | None, duration_s: float) -> None:
        """Write how the attempt ended. Advisory: the outcome says so too, or the last sign of life."""
        ended = AttemptEnded(
            attempt=self.number,
            status=status,
            error_message=error_message,
            duration_s=round(duration_s, 6),
            ended_at=utc_now(),
        )
        with suppress(StoreError):
            self._catalog.end_attempt(self._run_id, ended)

    def _started(self, number: int) -> AttemptStarted:
        return AttemptStarted(
            attempt=number, host=socket.gethostname(), pid=os.getpid(), engine=self._engine, started_at=utc_now()
        )

    def _beat(self) -> None:
        while True:
            # Advisory: the run itself meets the same store, and says what is wrong with it.
            with suppress(StoreError):
                self._write_heartbeat()
            with suppress(StoreError):
                if self._catalog.cancel_requested(self._run_id, self.number):
                    self._stop.stop()
            if self._closed.wait(self._beat_s):
                return

    def _write_heartbeat(self) -> None:
        now = self._counter.now()
        status = EvaluationRunStatus.RUNNING if now.status is EvaluationRunStatus.PENDING else now.status
        heartbeat = Heartbeat(
            at=utc_now(),
            status=status,
            parts=now.parts,
            parts_done=now.parts_done,
            rows=now.rows,
            rows_done=now.rows_done,
            rows_in_work=now.rows_in_work,
            failures=now.failures,
        )
        self._catalog.beat(self._run_id, self.number, heartbeat)


def refuse_live_run(catalog: Catalog, run_id: str) -> RunState:
    """The state of a run that nobody drives.

    Raises:
        EvaluationError: another process drives it.
    """
    state = read_state(catalog, run_id)
    if state.attempt is not None and not state.status.is_terminal:
        raise EvaluationError(
            f"run {run_id} is being driven by process {state.attempt.pid} on {state.attempt.host}; "
            "wait for it, cancel it, or take it over: resume it with --force (force=True)"
        )
    return state
