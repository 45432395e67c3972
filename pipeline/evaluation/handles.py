"""What a caller holds: an evaluation, a run, a suite. Each keeps the client that it came from."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from pipeline.errors import EvaluationError, EvaluationRunFailedError
from pipeline.evaluation.progress import OnProgress, RunProgress
from pipeline.records.dataset import DatasetRevisionRef
from pipeline.records.evaluation import EvaluationRunStatus
from pipeline.records.summary import Summary

if TYPE_CHECKING:
    from pipeline.evaluation.client import EvaluationClient
    from pipeline.evaluation.scores import Scores


class _Held:
    _client: EvaluationClient | None

    def _held(self) -> EvaluationClient:
        if self._client is None:
            raise EvaluationError(f"this {type(self).__name__} was made by hand; fetch it through an EvaluationClient")
        return self._client


@dataclass(frozen=True)
class EvaluationScorer:
    """One scorer of an evaluation: exactly one of the three forms is set."""

    id: str
    """Local to the evaluation."""
    function_version_id: str | None = None
    builtin_id: str | None = None
    sql_name: str | None = None
    sql_expression: str | None = None


@dataclass(frozen=True)
class Evaluation(_Held):
    """An immutable definition: a dataset revision, a task version and scorer versions."""

    id: str
    name: str
    dataset: DatasetRevisionRef
    task_function_version_id: str | None
    scorers: tuple[EvaluationScorer, ...]
    metadata: dict[str, Any] = field(default_factory=dict)
    suite_id: str | None = None
    partition_by: tuple[str, ...] = ()
    output_column: str | None = None
    """The dataset column that is scored, where there is no task."""
    created_by: str | None = None
    created_at: str | None = None
    _client: EvaluationClient | None = field(default=None, repr=False, compare=False)

    @property
    def dataset_id(self) -> str | None:
        """The dataset of the pinned revision."""
        return self.dataset.dataset_id

    @property
    def dataset_revision_id(self) -> str | None:
        """The pinned revision."""
        return self.dataset.revision_id

    @classmethod
    def create(
        cls,
        name: str,
        *,
        dataset: Any,
        task: Any = None,
        scorers: Iterable[Any],
        metadata: Mapping[str, Any] | None = None,
        suite_id: str | None = None,
        partition_by: Sequence[str] = (),
        output_column: str | None = None,
        store: Any = None,
    ) -> Evaluation:
        """Define an evaluation; see `EvaluationClient.create`."""
        return _client_of(store).create(
            name,
            dataset=dataset,
            task=task,
            scorers=scorers,
            metadata=metadata,
            suite_id=suite_id,
            partition_by=partition_by,
            output_column=output_column,
        )

    @classmethod
    def from_id(cls, evaluation_id: str, *, store: Any = None) -> Evaluation:
        """Attach to a definition. Raises EvaluationNotFoundError."""
        return _client_of(store).get(evaluation_id)

    def run(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        engine: str = "auto",
        ray_address: str | None = None,
        workers: int | None = None,
        limit: int | None = None,
        part_rows: int | None = None,
        max_failures: int | None = None,
        part_timeout_s: float | None = None,
        memory_limit: int | str | None = None,
        on_progress: OnProgress | None = None,
        new: bool = True,
    ) -> EvaluationRun:
        """Start a run in this process and return its handle at once; see `EvaluationClient.run`.

        Each call is a run of its own; with `new=False` it continues an equal run that was stopped, or returns the
        finished one.
        """
        return self._held().run(
            self.id,
            metadata=metadata,
            engine=engine,
            ray_address=ray_address,
            workers=workers,
            limit=limit,
            part_rows=part_rows,
            max_failures=max_failures,
            part_timeout_s=part_timeout_s,
            memory_limit=memory_limit,
            on_progress=on_progress,
            new=new,
        )

    def runs(self, limit: int | None = None) -> Iterator[EvaluationRun]:
        """Its runs, newest first."""
        return self._held().list_runs(evaluation_id=self.id, limit=limit)

    def refresh(self) -> Evaluation:
        """Read the definition again."""
        return self._held().get(self.id)


@dataclass(frozen=True)
class EvaluationRun(_Held):
    """One execution, as it stood when the handle was made. `refresh` and `wait` return newer handles."""

    id: str
    evaluation_id: str
    status: EvaluationRunStatus
    metadata: dict[str, Any] = field(default_factory=dict)
    created_by: str | None = None
    created_at: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    result_dataset_id: str | None = None
    result_dataset_revision_id: str | None = None
    error_message: str | None = None
    summary: Summary | None = None
    """Counts, means and bounds; None until the run has succeeded."""
    duration_s: float | None = None
    """Reading to commit, without the engine's start; None until the run has ended."""
    progress: RunProgress | None = None
    """How far it was; None where nobody has begun to drive it."""
    where: str = ""
    """The folder or URL of its files."""
    _client: EvaluationClient | None = field(default=None, repr=False, compare=False)

    @property
    def is_terminal(self) -> bool:
        """Whether it has ended."""
        return self.status.is_terminal

    @property
    def rows(self) -> int | None:
        """Rows of its plan; None while they are not known."""
        if self.summary is not None:
            return self.summary.rows
        return self.progress.rows if self.progress else None

    @property
    def result_dataset(self) -> DatasetRevisionRef | None:
        """The revision with the outputs and scores; None until the run has succeeded."""
        if self.result_dataset_id is None or self.result_dataset_revision_id is None:
            return None
        return DatasetRevisionRef(dataset_id=self.result_dataset_id, revision_id=self.result_dataset_revision_id)

    @classmethod
    def from_id(cls, run_id: str, *, store: Any = None) -> EvaluationRun:
        """Attach to a run, to watch it. Raises EvaluationNotFoundError."""
        return _client_of(store).get_run(run_id)

    def wait(
        self, timeout: float | None = 600.0, poll_interval: float = 2.0, raise_on_failure: bool = True
    ) -> EvaluationRun:
        """Wait for the end; Ctrl-C here cancels a run that this process drives.

        Args:
            timeout: seconds; None: without end.
            poll_interval: seconds between two looks at a run that another process drives.
            raise_on_failure: raise for a run that failed or was canceled.

        Returns:
            A new handle.

        Raises:
            TimeoutError: the time is over; the run goes on.
            EvaluationRunFailedError: it ended FAILED or CANCELED.
        """
        for name, value in (("timeout", timeout), ("poll_interval", poll_interval)):
            if value is not None and not value >= 0:
                raise ValueError(f"{name} must not be negative, found {value}")
        final = self if self.is_terminal else self._wait(timeout, poll_interval)
        if raise_on_failure and final.status is not EvaluationRunStatus.SUCCEEDED:
            raise EvaluationRunFailedError(final.error_message or f"run {final.id} is {final.status.value}", run=final)
        return final

    def _wait(self, timeout: float | None, poll_interval: float) -> EvaluationRun:
        client = self._held()
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"run {self.id} has not ended within {timeout} s; it goes on")
            client.await_end(self.id, poll_interval if left is None else min(poll_interval, left))
            handle = client.get_run(self.id)
            if handle.is_terminal:
                return handle

    def refresh(self) -> EvaluationRun:
        """A handle of this moment."""
        return self._held().get_run(self.id)

    def resume(self, **options: Any) -> EvaluationRun:
        """Go on with it where it was stopped, killed or failed; options as `EvaluationClient.resume`."""
        return self._held().resume(self.id, **options)

    def cancel(self) -> EvaluationRun:
        """Ask whoever drives it to stop; parts that are done stay, and the run can be resumed."""
        return self._held().cancel(self.id)

    def read(self) -> Scores:
        """The rows and the summary of a run that succeeded."""
        return self._held().read_results(self.id)


@dataclass(frozen=True)
class EvaluationSuite(_Held):
    """A named collection of evaluations and their runs."""

    id: str
    name: str
    created_by: str | None = None
    created_at: str | None = None
    _client: EvaluationClient | None = field(default=None, repr=False, compare=False)

    @classmethod
    def create(cls, name: str, *, store: Any = None) -> Self:
        """Make a suite."""
        return _client_of(store).create_suite(name)  # type: ignore[return-value]

    @classmethod
    def list_all(cls, *, store: Any = None) -> list[EvaluationSuite]:
        """All suites, newest first."""
        return _client_of(store).list_suites()

    def evaluations(self, limit: int | None = None) -> Iterator[Evaluation]:
        """Its evaluations, newest first."""
        return self._held().list(suite_id=self.id, limit=limit)

    def runs(self, limit: int | None = None) -> Iterator[EvaluationRun]:
        """The runs of its evaluations, newest first."""
        return self._held().list_runs(suite_id=self.id, limit=limit)


def _client_of(store: Any) -> EvaluationClient:
    from pipeline.evaluation.client import EvaluationClient

    return EvaluationClient(store)
