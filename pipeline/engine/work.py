"""What the engine carries out: a spec that travels to the workers, and the worker it opens there. Knows no flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from pipeline.records.limits import LimitDesk
from pipeline.records.plan import Part, Receipt

Serve = Callable[[Any], Any]
"""Sends a request to one member of a pool, and waits for its answer."""


class Place(NamedTuple):
    """Where a worker is opened."""

    workers: int = 1
    """Among how many the limits of a run are split, where nobody hands them out."""
    services: Mapping[str, Serve] = {}
    """The pools with resources of their own, by name; one that is not here, the worker is itself."""
    limits: LimitDesk | None = None
    """Hands out the permits of all workers that share a limit; None: each worker has its share."""


class PartWorker(Protocol):
    """One open worker. It is called from as many threads at once as its spec says."""

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:
        """Do the part, publish what it leaves, and return the receipt that stands on the store.

        A failed row is data. What is raised here ends the run, unless it is a passing fault (`RetryError`,
        `UnavailableError`, `MemoryError`): then the part is tried again, by another worker where there is one.

        Args:
            part: a part of the plan.
            attempt: from 1. Earlier ones may have kept rows, which are not worked on again.
        """
        ...

    def keep_rows(self, part: Part, first_row: int, rows: int, lost: str | None = None) -> None:
        """Do some rows of a part that was lost as a whole, and keep what comes out where `run_part` finds it.

        Args:
            part: a part of the plan.
            first_row: position in the whole input, as `part.first_row`.
            rows: how many.
            lost: what befell the workers that had this one row, again and again. The step that they were lost in is
                not tried any more: it fails, with owner harness.
        """
        ...

    def rows_finished(self) -> int:
        """A number that grows while rows get finished, for whoever watches; called from a thread of its own."""
        ...

    def rows_in_work(self) -> int:
        """Rows that are done of parts that are not, about; called from a thread of its own."""
        ...

    def close(self) -> None:
        """Let go of child processes and files. Not called when the worker is killed."""
        ...


class Service(Protocol):
    """A member of a pool with resources of its own."""

    def serve(self, request: Any) -> Any:
        """Answer one request; requests and answers are Arrow tables or frozen records."""
        ...

    def close(self) -> None:
        """Let go of what it holds. Not called when its process is killed."""
        ...


class ServiceSpec(Protocol):
    """How a member of a pool is made. Pickled once by the driver."""

    @property
    def resources(self) -> Resources:
        """Of one member."""
        ...

    def open(self, place: Place) -> Service:
        """Make a member; called once in each process. `place.workers`: how many members there are."""
        ...


class WorkerSpec(Protocol):
    """How a worker is made. Pickled once by the driver; its class must be importable on the workers."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Every place that the worker reads or writes: the store first, then inputs that are pinned where they are."""
        ...

    @property
    def parts_at_once(self) -> int:
        """Parts in work at one time: more than one where rows wait, so that those of the next part fill free slots."""
        ...

    @property
    def services(self) -> Mapping[str, ServiceSpec]:
        """What needs resources of its own, by name; on Ray each gets a pool, elsewhere the worker is it itself."""
        ...

    def open(self, place: Place) -> PartWorker:
        """Make one worker; called once in each worker process."""
        ...


class Resources(NamedTuple):
    """What one worker asks of the cluster."""

    num_cpus: float = 1.0
    num_gpus: float = 0.0
    memory: int | None = None
    """Bytes that Ray reserves for it; None: no reservation."""
    runtime_env: Mapping[str, Any] | None = None
    """Ray's description of packages and variables; None: the driver's environment."""
