"""The worker's side of a Ray actor: opens the spec once, runs parts, and answers with values."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Mapping

from pipeline.engine.choose import unseen
from pipeline.engine.outcome import Failure, Outcome, attempt
from pipeline.engine.work import PartWorker, Place, WorkerSpec
from pipeline.errors import EngineError
from pipeline.records.plan import Part


class WorkerHost:
    """One worker in its process. Nothing that it is asked raises: what fails is a `Failure`."""

    def __init__(self, spec: bytes, *, marks: Mapping[str, int], threads: int, workers: int) -> None:
        self._spec = spec
        self._marks = marks
        self._threads = threads
        self._workers = workers
        self._worker: PartWorker | None = None

    def open(self) -> Failure | None:
        """Open the worker, unless it is open. None: it is ready."""
        if self._worker is not None:
            return None
        try:
            self._check_landmarks()
            self._limit_arrow()
            spec: WorkerSpec = pickle.loads(self._spec)
            self._worker = spec.open(Place(workers=self._workers))
        except BaseException as error:  # noqa: BLE001 - the border: a failure travels as a value
            return Failure.of(error)
        return None

    def run_part(self, part: Part) -> Outcome | None:
        """Run one part. None: the worker is not open, the part was not begun."""
        return None if self._worker is None else attempt(self._worker, part)

    def close(self) -> None:
        """Close the worker."""
        if self._worker is not None:
            self._worker.close()

    def _check_landmarks(self) -> None:
        for path in unseen(self._marks):
            raise EngineError(
                f"{path} is a folder or file of the machine that started the run, the worker on {socket.gethostname()} "
                "cannot see it: use a place that all nodes reach, such as --store s3://bucket/prefix"
            )

    def _limit_arrow(self) -> None:
        """Arrow's pool of CPUs, like polars', is as wide as the machine unless it is told."""
        import pyarrow as pa

        pa.set_cpu_count(self._threads)
        pa.set_io_thread_count(self._threads + 1)
