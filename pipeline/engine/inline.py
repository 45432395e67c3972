"""The inline twin: the same worker, called in this process. For small jobs, debuggers and tests."""

from __future__ import annotations

import queue
import threading
import time
from typing import NamedTuple

from pipeline.engine.assignment import Assignment
from pipeline.engine.events import Stopping
from pipeline.engine.ledger import Ledger
from pipeline.engine.outcome import Failure, Outcome, attempt
from pipeline.engine.stop import StopSignal
from pipeline.engine.work import PartWorker, Place, WorkerSpec
from pipeline.errors import EngineError

WORKER = "this process"
POLL_S = 0.05  # how soon a stop is seen; an outcome wakes the driver at once


class _Done(NamedTuple):
    assignment: Assignment
    outcome: Outcome


def run_inline(spec: WorkerSpec, ledger: Ledger, stop: StopSignal, part_s: float) -> None:
    """Carry out what waits, until all is done or somebody stops.

    The worker lives in daemon threads of its own: a stop need not wait for a part that hangs, as with Ray. An
    abandoned part may still publish its receipt, which the next run then finds.

    Raises:
        InterruptedRunError: stopped.
        EngineError: no row was finished for `part_s` seconds: a thread cannot be ended.
        AssayError: a part failed for good.
    """
    hands = _Hands(spec)
    was_told = False
    try:
        while not ledger.is_done and not stop.is_over:
            while not stop.is_stopped and hands.n_busy < spec.parts_at_once and ledger.n_waiting:
                assignment = ledger.take(WORKER, is_alone=True)
                assert assignment is not None, "alone, this worker may take whatever waits"
                hands.give(assignment)
            if stop.is_stopped and not was_told:
                was_told = True
                ledger.tell(Stopping(hands.n_busy))
            if not hands.n_busy:
                break
            if (done := hands.wait()) is not None:
                ledger.settle(done.assignment, done.outcome, WORKER)
            elif hands.silent_s() < part_s:
                ledger.tell_rows_in_work(hands.rows_in_work)
            else:
                raise EngineError(
                    f"no row was finished for {part_s:.0f} s (part_timeout), and a call in this process cannot be "
                    "ended: use the engine ray (--engine ray), which ends its worker, fails the row and goes on; what "
                    "is done is kept"
                )
    finally:
        hands.let_go()
    if not ledger.is_done:
        raise ledger.interrupted()


class _Hands:
    """The threads that share the worker: opened by the first, closed by the last, used nowhere else."""

    def __init__(self, spec: WorkerSpec) -> None:
        self._spec = spec
        self._waiting: queue.SimpleQueue[Assignment | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[_Done] = queue.SimpleQueue()
        self._opening = threading.Lock()
        self._worker: PartWorker | None = None
        self._last_news, self._rows_seen = time.monotonic(), 0
        self.n_busy = 0
        names = [f"assay-inline-{number}" for number in range(spec.parts_at_once)]
        self._threads = [threading.Thread(target=self._work, name=name, daemon=True) for name in names]
        self._n_working = len(self._threads)
        for thread in self._threads:
            thread.start()

    def give(self, assignment: Assignment) -> None:
        """Hand it over."""
        self.n_busy += 1
        self._waiting.put(assignment)

    def wait(self) -> _Done | None:
        """What was done; None: nothing for `POLL_S`."""
        try:
            done = self._done.get(timeout=POLL_S)
        except queue.Empty:
            return None
        self.n_busy -= 1
        self._last_news = time.monotonic()
        return done

    def silent_s(self) -> float:
        """Seconds since something was last seen to get on."""
        rows = 0 if self._worker is None else self._worker.rows_finished()
        if rows != self._rows_seen:
            self._rows_seen, self._last_news = rows, time.monotonic()
        return time.monotonic() - self._last_news

    @property
    def rows_in_work(self) -> int:
        """Rows that are done of parts that are not."""
        return 0 if self._worker is None else self._worker.rows_in_work()

    def let_go(self) -> None:
        """Close the worker; one that is still busy closes itself when its last part ends."""
        for _ in self._threads:
            self._waiting.put(None)
        if not self.n_busy:
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        while (assignment := self._waiting.get()) is not None:
            try:
                worker = self._opened()
            except BaseException as error:  # noqa: BLE001 - raised again in the driver's thread
                self._done.put(_Done(assignment, Outcome(0.0, failure=Failure.of(error))))
                continue
            self._done.put(_Done(assignment, attempt(worker, assignment)))
        with self._opening:
            self._n_working -= 1
            if self._worker is not None and not self._n_working:
                self._worker.close()

    def _opened(self) -> PartWorker:
        with self._opening:
            self._worker = self._worker or self._spec.open(Place())
            return self._worker
