"""What the engine carries out: a spec that travels to the workers, and the worker it opens there. Knows no flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from pipeline.records.plan import Part, Receipt


class PartWorker(Protocol):
    """One open worker. It is called from one thread, one part after the other."""

    def run_part(self, part: Part) -> Receipt:
        """Do the part, publish what it leaves, and return the receipt that stands on the store.

        A failed row is data. What is raised here ends the run, unless it is a passing fault (`RetryError`,
        `UnavailableError`, `MemoryError`): then the part is tried again, by another worker where there is one.
        """
        ...

    def close(self) -> None:
        """Let go of child processes and files. Not called when the worker is killed."""
        ...


class WorkerSpec(Protocol):
    """How a worker is made. Pickled once by the driver; its class must be importable on the workers."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Every place that the worker reads or writes: the store first, then inputs that are pinned where they are."""
        ...

    def open(self, workers: int = 1) -> PartWorker:
        """Make one of `workers` workers; called once in each worker process. Limits of a run are split over them."""
        ...


class Resources(NamedTuple):
    """What one worker asks of the cluster."""

    num_cpus: float = 1.0
    num_gpus: float = 0.0
    memory: int | None = None
    """Bytes that Ray reserves for it; None: no reservation."""
    runtime_env: Mapping[str, Any] | None = None
    """Ray's description of packages and variables; None: the driver's environment."""
