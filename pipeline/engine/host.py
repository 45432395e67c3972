"""The worker's side of a Ray actor: opens what it is sent once, carries out what it is asked, answers with values."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.engine.assignment import Assignment
from pipeline.engine.choose import unseen
from pipeline.engine.memory_guard import start_memory_guard
from pipeline.engine.outcome import Failure, Outcome, attempt
from pipeline.engine.pulse import Pulse, leave_last_words
from pipeline.engine.services import Answer, Members, ServiceClient
from pipeline.engine.work import PartWorker, Place, Service, ServiceSpec, WorkerSpec
from pipeline.errors import EngineError


class Setting(NamedTuple):
    """What is the same for all actors of a run."""

    marks: Mapping[str, int]
    """Folders and files of the driver's machine, each with its inode; see `choose.landmarks`."""
    threads: int
    """That the libraries of one actor may use."""
    workers: int
    services: Mapping[str, tuple[Any, ...]]
    """The fields of `Members`, by name."""
    limits: bytes | None
    """Pickled: of `Place.limits`."""
    most_memory: int | None = None
    """Bytes at which a worker is ended; None: no bound."""


class ActorHost:
    """What an actor is, in its process. Nothing that it is asked raises: what fails is a `Failure`."""

    def __init__(self, spec: bytes, setting: Setting, pulse_key: bytes | None) -> None:
        """`pulse_key`: where a worker of parts leaves its sign; None: it serves requests."""
        self._spec = spec
        self._setting = setting
        self._pulse_key = pulse_key
        self._pulse: Pulse | None = None
        self._opened: PartWorker | Service | None = None

    def open(self) -> Failure | None:
        """Open the worker or the service, unless it is open. None: it is ready."""
        if self._opened is not None:
            return None
        try:
            self._check_landmarks()
            self._limit_arrow()
            spec: WorkerSpec | ServiceSpec = pickle.loads(self._spec)
            self._opened = spec.open(self._place())
            if self._pulse_key is not None:
                self._pulse = Pulse(self._pulse_key, self._opened)  # type: ignore[arg-type]
                self._guard_memory(self._pulse_key)
        except BaseException as error:  # noqa: BLE001 - the border: a failure travels as a value
            return Failure.of(error)
        return None

    def carry_out(self, pickled: bytes) -> Outcome | None:
        """Carry out one assignment. None: the worker is not open, it was not begun."""
        if self._opened is None:
            return None
        assignment: Assignment = pickle.loads(pickled)
        return attempt(self._opened, assignment)  # type: ignore[arg-type]

    def serve(self, request: Any) -> Answer | None:
        """Answer one request. None: the service is not open."""
        if self._opened is None:
            return None
        try:
            return Answer(self._opened.serve(request))  # type: ignore[union-attr]
        except BaseException as error:  # noqa: BLE001 - the border
            return Answer(None, Failure.of(error))

    def close(self) -> None:
        """Close what is open."""
        if self._pulse is not None:
            self._pulse.close()
        if self._opened is not None:
            self._opened.close()

    def _place(self) -> Place:
        clients = {name: ServiceClient(name, Members(*fields)) for name, fields in self._setting.services.items()}
        limits = None if self._setting.limits is None else pickle.loads(self._setting.limits)
        return Place(self._setting.workers, clients, limits)

    def _guard_memory(self, pulse_key: bytes) -> None:
        if self._setting.most_memory is not None:
            start_memory_guard(self._setting.most_memory, lambda reason: leave_last_words(pulse_key, reason))

    def _check_landmarks(self) -> None:
        for path in unseen(self._setting.marks):
            raise EngineError(
                f"{path} is a folder or file of the machine that started the run, the worker on {socket.gethostname()} "
                "cannot see it: use a place that all nodes reach, such as --store s3://bucket/prefix"
            )

    def _limit_arrow(self) -> None:
        """Arrow's pool of CPUs, like polars', is as wide as the machine unless it is told."""
        import pyarrow as pa

        pa.set_cpu_count(self._setting.threads)
        pa.set_io_thread_count(self._setting.threads + 1)
