"""Runs that this process drives: each in a thread of its own, waited for at the interpreter's exit."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from pipeline.engine import StopSignal, choose_engine
from pipeline.errors import AssayError, InterruptedRunError
from pipeline.evaluation.attempt import Attempt
from pipeline.evaluation.carry_out import Job, RunOptions, carry_out
from pipeline.evaluation.catalog import Catalog
from pipeline.evaluation.outcome import conclude, result_dataset_id
from pipeline.evaluation.progress import ProgressCounter, RunProgress
from pipeline.records.evaluation import EvaluationRecord, EvaluationRunStatus, RunRecord

_live: dict[tuple[str, str], RunThread] = {}
_lock = threading.Lock()


class RunThread:
    """Drives one attempt at one run."""

    def __init__(
        self, catalog: Catalog, evaluation: EvaluationRecord, run: RunRecord, job: Job, options: RunOptions
    ) -> None:
        self._catalog, self._evaluation, self._run, self._job, self._options = catalog, evaluation, run, job, options
        self._counter = ProgressCounter(job.plan)
        self._thread = threading.Thread(target=self._drive, name=f"assay-run-{run.id}", daemon=False)
        # An event, not Thread.join: a Ctrl-C during join makes Python 3.11 take a live thread for a dead one.
        self._ended = threading.Event()
        self.stop = StopSignal()
        self.error: BaseException | None = None
        """What ended the attempt; None while it goes on and where it succeeded."""
        self.duration_s: float | None = None

    def start(self) -> None:
        """Begin; returns at once."""
        with _lock:
            _live[self._catalog.store.url, self._run.id] = self
        self._thread.start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait; False where the time is over first."""
        return self._ended.wait(timeout)

    def stop_and_join(self) -> None:
        """Stop and wait for the end; Ctrl-C meanwhile kills the workers."""
        self.stop.stop()
        try:
            self.join()
        except KeyboardInterrupt:
            self.stop.kill()
            self.join()

    @property
    def is_alive(self) -> bool:
        """Whether the attempt goes on."""
        return not self._ended.is_set()

    @property
    def progress(self) -> RunProgress:
        """How far the attempt is."""
        return self._counter.now()

    def _drive(self) -> None:
        try:
            options, n_parts = self._options, len(self._job.plan.parts)
            services = self._job.work.services
            engine = choose_engine(options.engine, n_parts, options.ray_address, services=services)
            with Attempt(self._catalog, self._run.id, self._counter, self.stop, engine=engine) as attempt:
                status, message = self._attempt()
                self._counter.status = status
                attempt.end(status, message, self.duration_s or self._counter.elapsed_s)
        except BaseException as error:  # noqa: BLE001 - a thread's border: the error goes to whoever waits
            self.error = self.error or error
        finally:
            try:
                if self._options.on_progress:
                    self._options.on_progress(self._counter.now())
            finally:
                self._ended.set()

    def _attempt(self) -> tuple[EvaluationRunStatus, str | None]:
        try:
            committed = carry_out(self._job, self._options, self._counter, self.stop)
            self.duration_s = committed.duration_s
            conclude(self._job, self._evaluation, result_dataset_id(self._run.id), committed)
        except InterruptedRunError as error:
            self.error = error
            return EvaluationRunStatus.CANCELED, str(error)
        except AssayError as error:
            self.error = error
            return EvaluationRunStatus.FAILED, str(error)
        except BaseException as error:  # noqa: BLE001 - what the run dies of is written down as its end
            self.error = error
            return EvaluationRunStatus.FAILED, f"{type(error).__name__}: {error}"
        return EvaluationRunStatus.SUCCEEDED, None


def live_run(store_url: str, run_id: str) -> RunThread | None:
    """The thread of a run that this process drives or drove."""
    with _lock:
        return _live.get((store_url, run_id))


def stop_live_runs() -> None:
    """Stop every run that this process drives; returns at once."""
    for thread in _living():
        thread.stop.stop()


def _living() -> list[RunThread]:
    with _lock:
        return [thread for thread in _live.values() if thread.is_alive]


def _wait_for_live_runs() -> None:
    waiting = _living()
    if not waiting:
        return
    print(f"assay: waiting for {len(waiting)} unfinished run(s); Ctrl-C stops them, resumable", file=sys.stderr)
    for stop in _stops(waiting):
        with suppress(KeyboardInterrupt):
            for thread in waiting:
                thread.join()
            return
        stop()


def _stops(threads: list[RunThread]) -> list[Callable[[], None]]:
    """What the first and the second Ctrl-C do; then no more waiting."""

    def stop_all() -> None:
        for thread in threads:
            thread.stop.stop()

    def kill_all() -> None:
        for thread in threads:
            thread.stop.kill()

    return [stop_all, kill_all]


# Before Python refuses new work to thread pools, which the run's own threads still need: atexit would be too late.
threading._register_atexit(_wait_for_live_runs)  # type: ignore[attr-defined]
