"""Carry out a plan: what is missing is worked on, then the index is written. Knows no run and no evaluation's name."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pipeline.engine import (
    PATIENCE,
    Event,
    PartDone,
    PartFailed,
    Patience,
    Resources,
    RowsInWork,
    Started,
    StopSignal,
    WorkerSpec,
    execute,
)
from pipeline.errors import AssayError, FailingRunError, MissingError, PlanMismatchError
from pipeline.evaluation.journal import journalled_parts, sweep_journal
from pipeline.evaluation.partitions import check_partition_count
from pipeline.evaluation.progress import OnProgress, ProgressCounter
from pipeline.records.evaluation import EvaluationRunStatus
from pipeline.records.plan import Manifest, Plan, Receipt
from pipeline.store import Store, begin, check_plan, finish, read_manifest

PLAN_MEANINGS = {
    "pins.dataset_revision": "the data have changed, or are others",
    "pins.output_column": "another column is scored",
    "pins.task": "the task has changed, or is another",
    "pins.scorers": "the scorers have changed, or are others",
    "pins.partition_by": "it is partitioned by other columns",
    "pins.writer": "it was begun with another version of pyarrow, whose files differ: go on with that, or start anew",
    "parts": "another number of rows is asked for (limit), or the parts are cut otherwise",
}
PROGRESS_S = 0.5  # seconds between two calls of on_progress


class Resumable(WorkerSpec, Protocol):
    """Work of which finished rows may have been kept."""

    def with_journal(self, parts: frozenset[int]) -> WorkerSpec:
        """The same, where rows of these parts are kept."""
        ...


@dataclass(frozen=True)
class Job:
    """A plan, where it stands, and who can work on its parts."""

    store: Store
    prefix: str
    """Folder below the store's root; nothing for a plain result folder."""
    plan: Plan
    work: Resumable
    resources: Resources
    """Of one worker."""
    prepared_s: float = 0.0
    """Seconds of reading before the plan was there: the digests of files pinned in place."""
    most_workers: int | None = None
    """As many as the memory limit allows; None: no bound."""


@dataclass(frozen=True)
class RunOptions:
    """How to carry a job out; never part of a plan."""

    engine: str = "auto"
    ray_address: str | None = None
    workers: int | None = None
    max_failures: int | None = None
    """Stop when more outputs and scores than this have failed; None: no limit."""
    on_progress: OnProgress | None = None
    part_timeout_s: float | None = None
    """For the next finished row of a part; None: the engine's ten minutes."""
    memory_limit: int | None = None
    """Bytes of all workers together; None: no limit."""


class Committed(NamedTuple):
    """A plan with its index."""

    manifest: Manifest
    duration_s: float
    """Reading to commit, without the engine's start; 0 where it was committed before."""


def carry_out(job: Job, options: RunOptions, counter: ProgressCounter, stop: StopSignal) -> Committed:
    """Work on all parts without a receipt, then commit.

    Raises:
        PlanMismatchError: another plan stands there.
        InterruptedRunError: stopped; the same call goes on.
        FailingRunError: `max_failures` was passed.
        StoreError, EngineError: as they say.
    """
    job.store.probe()
    with _telling_the_meaning(job.store, job.prefix):
        begun = begin(job.store, job.prefix, job.plan)
    watch = _Watch(job, options, counter)
    if begun.manifest is not None:
        watch.count_earlier(begun.receipts.values())
        return Committed(begun.manifest, 0.0)
    watch.count_earlier(begun.receipts.values(), judge=True)
    try:
        manifest = _work(job, options, counter, stop, watch, begun.receipts)
    except (AssayError, OSError):
        # Another driver may have been faster, and have cleared away what this one was reading.
        standing = read_manifest(job.store, job.prefix)
        if standing is None or standing.plan_sha256 != job.plan.sha256:
            raise
        manifest = standing
    return Committed(manifest, job.prepared_s + counter.elapsed_s)


def _work(
    job: Job,
    options: RunOptions,
    counter: ProgressCounter,
    stop: StopSignal,
    watch: _Watch,
    done: Mapping[int, Receipt],
) -> Manifest:
    receipts = dict(done)
    missing = [part for part in job.plan.parts if part.index not in receipts]
    if missing:
        watch.report(force=True)  # starting an engine takes a while
        receipts |= execute(
            job.work.with_journal(journalled_parts(job.store, job.prefix)),
            missing,
            engine=options.engine,
            ray_address=options.ray_address,
            workers=options.workers,
            at_most=job.most_workers,
            memory_limit=options.memory_limit,
            resources=job.resources,
            on_event=watch.on_event,
            stop=stop,
            patience=PATIENCE if options.part_timeout_s is None else Patience(part_s=options.part_timeout_s),
        )
    counter.status = EvaluationRunStatus.FINALIZING
    watch.report(force=True)
    manifest = finish(job.store, job.prefix, job.plan, receipts)
    sweep_journal(job.store, job.prefix)
    return manifest


def check_begun_plan(store: Store, prefix: str, plan: Plan, sha256: str) -> None:
    """Refuse to go on with work that was begun by another plan, before anything is written.

    Args:
        sha256: of the plan by which it was begun.

    Raises:
        PlanMismatchError: `plan` is another one; names what differs where the plan that was begun stands.
    """
    if plan.sha256 == sha256:
        return
    with _telling_the_meaning(store, prefix), suppress(MissingError):
        check_plan(store, prefix, plan)
    raise PlanMismatchError(f"{prefix} was begun with other settings, and nothing of it was done: start it again")


@contextmanager
def _telling_the_meaning(store: Store, prefix: str) -> Iterator[None]:
    try:
        yield
    except PlanMismatchError as error:
        where = f"{store.display}/{prefix}".rstrip("/")
        raise PlanMismatchError(
            f"{where} holds the result of something else: {_meaning(error.field)} ({error})", error.field
        ) from None


def _meaning(field: str | None) -> str:
    """What differs between two plans, in the words of whoever asked for them."""
    for start, meaning in PLAN_MEANINGS.items():
        if (field or "").startswith(start):
            return meaning
    return "other settings"


class _Watch:
    """Counts what the engine reports, tells the caller, and stops a run that fails too much."""

    def __init__(
        self,
        job: Job,
        options: RunOptions,
        counter: ProgressCounter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._job, self._options, self._counter, self._clock = job, options, counter, clock
        self._folders: set[str] = set()
        self._reported_at = -PROGRESS_S

    def count_earlier(self, receipts: Iterable[Receipt], *, judge: bool = False) -> None:
        """Count parts of earlier attempts; `judge`: a run that failed too much then fails too much still."""
        for receipt in receipts:
            self._counter.add(receipt, earlier=True)
            if judge:
                self._judge(receipt)

    def on_event(self, event: Event) -> None:
        if isinstance(event, Started):
            self._counter.start()
        elif isinstance(event, RowsInWork):
            self._counter.rows_in_work = event.rows
        elif isinstance(event, PartFailed):
            self._counter.tried_again += 1
        elif isinstance(event, PartDone):
            self._counter.add(event.receipt)
            self._judge(event.receipt)
        self.report()

    def report(self, *, force: bool = False) -> None:
        if self._options.on_progress and (force or self._clock() - self._reported_at >= PROGRESS_S):
            self._reported_at = self._clock()
            self._options.on_progress(self._counter.now())

    def _judge(self, receipt: Receipt) -> None:
        partition_by = self._job.plan.pins.get("partition_by") or []
        if partition_by:
            self._folders |= {file.path.rpartition("/")[0] for file in receipt.files}
            check_partition_count(len(self._folders), partition_by)
        limit = self._options.max_failures
        failed = sum(self._counter.failures.values())
        if limit is not None and failed > limit:
            by_owner = ", ".join(f"{n} {owner}" for owner, n in self._counter.failures.items())
            raise FailingRunError(f"{failed} failures ({by_owner}), more than max_failures={limit}")
