"""The inline twin: the same worker, called in this process. For small jobs, debuggers and tests."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from pipeline.engine.events import Stopping
from pipeline.engine.ledger import Ledger
from pipeline.engine.outcome import Failure, Outcome, attempt
from pipeline.engine.stop import StopSignal
from pipeline.engine.work import PartWorker, Place, WorkerSpec
from pipeline.records.plan import Part

WORKER = "this process"
POLL_S = 0.05  # how soon a stop is seen; an outcome wakes the driver at once


def run_inline(spec: WorkerSpec, ledger: Ledger, stop: StopSignal) -> None:
    """Run the waiting parts one after the other, until all are done or somebody stops.

    The worker lives in a daemon thread of its own: a stop need not wait for a part that hangs, as with Ray. An
    abandoned part may still publish its receipt, which the next run then finds.

    Raises:
        InterruptedRunError: stopped.
        AssayError: a part failed for good.
    """
    hand = _Hand(spec)
    try:
        while not ledger.is_done and not stop.is_stopped:
            part = ledger.take(WORKER, is_alone=True)
            assert part is not None, "a ledger that is not done has a waiting part: nobody else has one in work"
            outcome = hand.do(part, lambda: ledger.tell(Stopping(1)), stop)
            if outcome is None:
                break
            ledger.settle(part, outcome, WORKER)
    finally:
        hand.let_go()
    if not ledger.is_done:
        raise ledger.interrupted()


class _Hand:
    """The thread that holds the worker: opened, used and closed there, and nowhere else."""

    def __init__(self, spec: WorkerSpec) -> None:
        self._spec = spec
        self._parts: queue.SimpleQueue[Part | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._is_busy = False
        self._thread = threading.Thread(target=self._work, name="assay-inline", daemon=True)
        self._thread.start()

    def do(self, part: Part, on_stop: Callable[[], None], stop: StopSignal) -> Outcome | None:
        """Hand the part over and wait; None: the grace period has passed, the part is abandoned."""
        self._is_busy, was_told = True, False
        self._parts.put(part)
        while not stop.is_over:
            if stop.is_stopped and not was_told:
                was_told = True
                on_stop()
            try:
                outcome = self._outcomes.get(timeout=POLL_S)
            except queue.Empty:
                continue
            self._is_busy = False
            return outcome
        return None

    def let_go(self) -> None:
        """Close the worker; one that is still busy closes itself when its part ends."""
        self._parts.put(None)
        if not self._is_busy:
            self._thread.join()

    def _work(self) -> None:
        worker: PartWorker | None = None
        while (part := self._parts.get()) is not None:
            try:
                worker = worker or self._spec.open(Place())
            except BaseException as error:  # noqa: BLE001 - raised again in the driver's thread
                self._outcomes.put(Outcome(0.0, failure=Failure.of(error)))
                continue
            self._outcomes.put(attempt(worker, part))
        if worker is not None:
            worker.close()
