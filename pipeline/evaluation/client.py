"""The client: everything that can be done with evaluations, runs and suites on one store."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.errors import EvaluationError, EvaluationNotFoundError
from pipeline.evaluation import present
from pipeline.evaluation.attempt import refuse_live_run
from pipeline.evaluation.carry_out import Job, RunOptions, check_begun_plan
from pipeline.evaluation.catalog import Catalog, current_user, new_id, utc_now
from pipeline.evaluation.definition import checked_metadata, checked_name, define
from pipeline.evaluation.handles import Evaluation, EvaluationRun, EvaluationSuite
from pipeline.evaluation.planning import PlanPreview, preview
from pipeline.evaluation.prepare import Prepared, prepare
from pipeline.evaluation.progress import OnProgress
from pipeline.evaluation.reading import read_results
from pipeline.evaluation.results import ResultFolder
from pipeline.evaluation.runner import RunThread, live_run
from pipeline.evaluation.scores import Scores
from pipeline.evaluation.status import read_state
from pipeline.functions import TrustPolicy, memory_bytes
from pipeline.records.evaluation import EvaluationRecord, EvaluationRunStatus, RunRecord
from pipeline.store import open_store, resolve_revision


class EvaluationClient:
    """Evaluations, runs and suites on one store.

    Args:
        store: a Store, a folder or an fsspec URL; None: ASSAY_STORE, else `.assay` in the working directory.
    """

    def __init__(self, store: Any = None) -> None:
        self.store = open_store(store)
        self._catalog = Catalog(self.store)

    # -- suites ------------------------------------------------------------------------------------------------

    def create_suite(self, name: str) -> EvaluationSuite:
        """Make a suite. Raises ValueError for an empty name."""
        self.store.probe()
        return present.suite_handle(self._catalog.create_suite(checked_name(name)), self)

    def list_suites(self) -> list[EvaluationSuite]:
        """All suites, newest first."""
        return [present.suite_handle(record, self) for record in self._catalog.suites()]

    # -- definitions -------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        *,
        dataset: Any,
        task: Any = None,
        scorers: Iterable[Any],
        metadata: Mapping[str, Any] | None = None,
        suite_id: str | None = None,
        partition_by: Sequence[str] = (),
        output_column: str | None = None,
        reuse: bool = False,
        trust: TrustPolicy | None = None,
    ) -> Evaluation:
        """Define an evaluation: everything is checked and pinned here, nothing is run.

        Args:
            name: for people; need not be unique.
            dataset: a DatasetRevisionRef, or an object with `dataset_id` and `revision_id` or with `dataset_name`.
            task: a function, called once a row; None with `output_column`: score what is there.
            scorers: built-ins, SQL expressions, functions; at least one.
            metadata: JSON with text keys, kept with the definition.
            suite_id: the suite it is filed under; None: the one called Default.
            partition_by: dataset columns by whose values the result is cut into folders.
            output_column: the dataset column that stands for the task's output.
            reuse: return an equal definition that is there already, instead of a second one.
            trust: which functions of other stores may be taken over; None: those of `TrustPolicy.of()`.

        Raises:
            TypeError, ValueError: arguments that are wrong by themselves.
            DatasetError, FunctionError, EvaluationError: parts that cannot be found or do not fit.
        """

        def suite() -> str:
            self.store.probe()
            return self._catalog.default_suite().id if suite_id is None else self._catalog.suite(suite_id).id

        if suite_id is not None:
            suite_id = _given("suite id", suite_id)
        record = define(
            self.store,
            name,
            dataset=dataset,
            task=task,
            scorers=scorers,
            metadata=metadata,
            suite=suite,
            partition_by=partition_by,
            output_column=output_column,
            trust=trust,
        )
        found = self._catalog.find_equal(record) if reuse else None
        if found is None:
            self._catalog.add_evaluation(record)
        return present.evaluation_handle(found or record, self)

    def get(self, evaluation_id: str) -> Evaluation:
        """One definition. Raises EvaluationNotFoundError."""
        return present.evaluation_handle(self._record(evaluation_id), self)

    def list(self, *, suite_id: str | None = None, limit: int | None = None) -> Iterator[Evaluation]:
        """Definitions, newest first."""
        check_paging(limit, suite_id=suite_id)
        found = (record for record in self._catalog.evaluations() if suite_id in (None, record.suite_id))
        for _, record in zip(_numbers(limit), found, strict=False):
            yield present.evaluation_handle(record, self)

    def plan(
        self,
        evaluation_id: str,
        *,
        limit: int | None = None,
        part_rows: int | None = None,
        memory_limit: int | str | None = None,
        workers: int | None = None,
    ) -> PlanPreview:
        """What a run with these arguments would do: parts, rows, calls. Raises as `run` would, before it begins."""
        record = self._record(evaluation_id)
        prepared = self._prepare(record, limit, None, part_rows)
        prepared.check_memory(_bytes_of(memory_limit), workers)
        return preview(prepared.plan, record)

    # -- runs --------------------------------------------------------------------------------------------------

    def run(
        self,
        evaluation_id: str,
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
        force: bool = False,
        trust: TrustPolicy | None = None,
    ) -> EvaluationRun:
        """Start a run in a thread of this process and return its handle at once.

        Args:
            evaluation_id: the definition.
            metadata: JSON with text keys, kept with the run.
            engine: `inline`, `ray`, or `auto`: inline for up to two parts where no cluster is named.
            ray_address: a Ray cluster; None: RAY_ADDRESS, else a Ray of our own.
            workers: how many workers; None: one for each CPU.
            limit: only so many rows from the first.
            part_rows: rows a part at most: a part is what is done at once, and what a kill loses.
            max_failures: stop when more outputs and scores than this have failed.
            part_timeout_s: seconds for the next finished row of a part; then its worker is ended. None: ten minutes.
            memory_limit: of all workers together, as bytes or text such as `2GiB`; decides how many work, and how many
                rows each takes at once. Changes no result. None: no limit.
            on_progress: called about twice a second, from the run's thread.
            new: False: continue the newest unfinished run of an equal plan, or return the finished one.
            force: with `new=False`, also when another process seems to drive that run.
            trust: which functions may be loaded; None: those of ASSAY_TRUST, the default store and this process.
        """
        record = self._record(evaluation_id)
        prepared = self._prepare(record, limit, trust, part_rows)
        options = RunOptions(
            engine, ray_address, workers, max_failures, on_progress, part_timeout_s, _bytes_of(memory_limit)
        )
        equal = None if new else self._newest_equal(record, prepared.plan.sha256)
        if equal is not None:
            return self._continue(record, equal, prepared, options, force)
        run = RunRecord(
            id=new_id(),
            evaluation_id=record.id,
            metadata=checked_metadata(metadata),
            plan_sha256=prepared.plan.sha256,
            created_by=current_user(),
            created_at=utc_now(),
        )
        job = self._job(run, prepared, options)
        self.store.probe()
        self._catalog.add_run(run)
        return self._start(record, run, job, options)

    def resume(
        self,
        run_id: str,
        *,
        engine: str = "auto",
        ray_address: str | None = None,
        workers: int | None = None,
        max_failures: int | None = None,
        part_timeout_s: float | None = None,
        memory_limit: int | str | None = None,
        on_progress: OnProgress | None = None,
        force: bool = False,
        trust: TrustPolicy | None = None,
    ) -> EvaluationRun:
        """Go on with a run that was stopped, killed or failed; parts that are done are not done again.

        Raises:
            EvaluationError: another process drives it, and `force` is not given.
            PlanMismatchError: what it would do has changed, such as the version of pyarrow.
        """
        run = self._catalog.run(_given("run id", run_id))
        state = read_state(self._catalog, run.id) if force else refuse_live_run(self._catalog, run.id)
        if state.status is EvaluationRunStatus.SUCCEEDED:
            return self.get_run(run.id)
        record = self._catalog.evaluation(run.evaluation_id)
        limit, part_rows = ResultFolder(self.store, f"runs/{run.id}").planned_rows()
        prepared = self._prepare(record, limit, trust, part_rows)
        check_begun_plan(self.store, f"runs/{run.id}", prepared.plan, run.plan_sha256)
        options = RunOptions(
            engine, ray_address, workers, max_failures, on_progress, part_timeout_s, _bytes_of(memory_limit)
        )
        return self._start(record, run, self._job(run, prepared, options), options)

    def get_run(self, run_id: str) -> EvaluationRun:
        """One run as it stands now. Raises EvaluationNotFoundError."""
        run = self._catalog.run(_given("run id", run_id))
        return present.run_handle(self._catalog, run, self)

    def list_runs(
        self, *, evaluation_id: str | None = None, suite_id: str | None = None, limit: int | None = None
    ) -> Iterator[EvaluationRun]:
        """Runs, newest first."""
        check_paging(limit, evaluation_id=evaluation_id, suite_id=suite_id)
        runs = self._catalog.runs(evaluation_id) if evaluation_id is not None else self._catalog.all_runs()
        suites: dict[str, str] = {}

        def is_wanted(run: RunRecord) -> bool:
            if suite_id is None:
                return True
            if run.evaluation_id not in suites:
                suites[run.evaluation_id] = self._catalog.evaluation(run.evaluation_id).suite_id
            return suites[run.evaluation_id] == suite_id

        wanted = (run for run in runs if is_wanted(run))
        for _, run in zip(_numbers(limit), wanted, strict=False):
            yield present.run_handle(self._catalog, run, self)

    def cancel(self, run_id: str) -> EvaluationRun:
        """Ask whoever drives the run to stop. Raises EvaluationError where it has ended."""
        run = self._catalog.run(_given("run id", run_id))
        state = read_state(self._catalog, run.id)
        if state.status.is_terminal:
            raise EvaluationError(f"run {run.id} is {state.status.value} already")
        if state.attempt is not None:
            self._catalog.request_cancel(run.id, state.attempt.attempt)
        driven = live_run(self.store.url, run.id)
        if driven is not None:
            driven.stop.stop()
        return self.get_run(run_id)

    def await_end(self, run_id: str, seconds: float) -> None:
        """Return when a run that this process drives ends, or after `seconds`. Ctrl-C stops the run, twice kills it."""
        driven = live_run(self.store.url, run_id)
        if driven is None:
            present.pause(seconds)
            return
        try:
            driven.join(seconds)
        except KeyboardInterrupt:
            print(f"assay: stopping run {run_id}; Ctrl-C again kills the workers", file=sys.stderr, flush=True)
            driven.stop_and_join()
            print(f"assay: what is done is kept: EvaluationRun.from_id({run_id!r}).resume() goes on", file=sys.stderr)
            raise

    def read_results(self, run_id: str) -> Scores:
        """The rows and the summary of a run that succeeded. Raises DatasetError where there is no result."""
        return read_results(_given("run id", run_id), store=self.store)

    # -- inside ------------------------------------------------------------------------------------------------

    def _record(self, evaluation_id: str) -> EvaluationRecord:
        return self._catalog.evaluation(_given("evaluation id", evaluation_id))

    def _prepare(
        self,
        record: EvaluationRecord,
        limit: int | None,
        trust: TrustPolicy | None,
        part_rows: int | None = None,
    ) -> Prepared:
        revision = resolve_revision(self.store, record.dataset_revision_id)
        return prepare(self.store, record, revision, limit=limit, part_rows=part_rows, trust=trust)

    def _newest_equal(self, record: EvaluationRecord, plan_sha256: str) -> RunRecord | None:
        return next((run for run in self._catalog.runs(record.id) if run.plan_sha256 == plan_sha256), None)

    def _continue(
        self, record: EvaluationRecord, run: RunRecord, prepared: Prepared, options: RunOptions, force: bool
    ) -> EvaluationRun:
        state = read_state(self._catalog, run.id) if force else refuse_live_run(self._catalog, run.id)
        if state.status is EvaluationRunStatus.SUCCEEDED:
            return self.get_run(run.id)
        return self._start(record, run, self._job(run, prepared, options), options)

    def _job(self, run: RunRecord, prepared: Prepared, options: RunOptions) -> Job:
        place = f"runs/{run.id}"
        return prepared.job(self.store, place, memory_limit=options.memory_limit, workers=options.workers)

    def _start(self, record: EvaluationRecord, run: RunRecord, job: Job, options: RunOptions) -> EvaluationRun:
        RunThread(self._catalog, record, run, job, options).start()
        return self.get_run(run.id)


def check_paging(limit: int | None, **ids: str | None) -> None:
    """Refuse a negative limit and blank ids. Raises ValueError."""
    if limit is not None and limit < 0:
        raise ValueError(f"limit must not be negative, found {limit}")
    for name, value in ids.items():
        if value is not None:
            _given(name.replace("_", " "), value)


def _given(what: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, found {type(value).__name__}")
    if not value.strip():
        raise ValueError(f"{what} must not be blank")
    if "/" in value or "\\" in value:
        raise EvaluationNotFoundError(f"no {what} {value!r}: an id has no slashes")
    return value.strip()


def _numbers(limit: int | None) -> Iterator[int]:
    number = 0
    while limit is None or number < limit:
        yield number
        number += 1


def _bytes_of(memory_limit: int | str | None) -> int | None:
    return None if memory_limit is None else memory_bytes("memory_limit", memory_limit)
