"""Score files that are there: into a plain folder that needs no store, or as a registered run."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from pipeline.engine import StopSignal
from pipeline.errors import InputError
from pipeline.evaluation.carry_out import RunOptions, carry_out
from pipeline.evaluation.catalog import new_id
from pipeline.evaluation.client import EvaluationClient
from pipeline.evaluation.definition import define
from pipeline.evaluation.expected import read_expected_from
from pipeline.evaluation.handles import EvaluationRun
from pipeline.evaluation.outcome import conclude
from pipeline.evaluation.planning import PlanPreview, preview
from pipeline.evaluation.prepare import Prepared, prepare
from pipeline.evaluation.progress import ProgressCounter
from pipeline.evaluation.results import ResultFolder
from pipeline.records import columns
from pipeline.records.dataset import DatasetRevisionRef, Revision
from pipeline.records.evaluation import EvaluationRecord, Outcome
from pipeline.records.names import slug
from pipeline.store import (
    DatasetClient,
    Store,
    csv_header,
    expand_inputs,
    pin_files,
    register_revision,
    resolve_revision,
)

SCRATCH = ".assay-scratch"  # beside the result, outside the index: converted inputs and pinned functions
NAME = "score"


@dataclass(frozen=True)
class FileScoring:
    """What to score, and how; every way of scoring files takes one.

    `output_column` holds what is scored, `expected_column` is what built-ins read where they would read `expected`.
    """

    files: Sequence[str]
    scorers: Sequence[Any]
    output_column: str = columns.OUTPUT
    expected_column: str | None = None
    partition_by: Sequence[str] = ()
    limit: int | None = None
    part_rows: int | None = None
    """Rows a part at most; None: after the cost of a row."""
    column_types: Mapping[str, str] = field(default_factory=dict)
    """Types of CSV and JSON Lines columns that are given instead of found."""
    delimiter: str = ","

    def wanted_scorers(self) -> Iterable[Any]:
        """The scorers, reading the expected column."""
        return self.scorers if self.expected_column is None else read_expected_from(self.expected_column, self.scorers)

    def types_of_texts(self) -> dict[str, str]:
        """The given types, and text for each CSV column that is compared: `007` is another answer than `7`."""
        compared = {self.output_column, *(name for scorer in self.wanted_scorers() for name in _texts_of(scorer))}
        files = [file for pattern in self.files for file in expand_inputs(pattern) if is_csv(file)]
        found = {name for file in files for name in csv_header(file, self.delimiter)}
        return dict.fromkeys(compared & found, "string") | dict(self.column_types)


@dataclass(frozen=True)
class PreparedFolder:
    """Files that are about to be scored into a plain folder."""

    folder: ResultFolder
    prepared: Prepared
    record: EvaluationRecord
    prepared_s: float

    def preview(self, options: RunOptions) -> PlanPreview:
        """What it would do. Raises InputError where the memory limit is too little."""
        self.prepared.check_memory(options.memory_limit, options.workers)
        return preview(self.prepared.plan, self.record)

    def carry_out(self, options: RunOptions, stop: StopSignal) -> Outcome:
        """Do it, or go on with it; returns at once where it is done.

        Raises:
            PlanMismatchError: the folder holds the result of something else.
            InterruptedRunError: stopped; the same call goes on.
        """
        counter = ProgressCounter(self.prepared.plan)
        job = self.prepared.job(
            self.folder.store, "", self.prepared_s, memory_limit=options.memory_limit, workers=options.workers
        )
        committed = carry_out(job, options, counter, stop)
        outcome = conclude(job, self.record, NAME, committed)
        _remove_scratch(self.folder.store, SCRATCH)
        return outcome


def prepare_folder(scoring: FileScoring, to: str | os.PathLike[str]) -> PreparedFolder:
    """Read what is needed of the files, check everything, and plan.

    Parquet is pinned where it is; CSV and JSON Lines are converted into `<to>/scratch`, which goes when all is done.
    """
    started = time.monotonic()
    store = Store(to)
    _check_place(store)
    scratch = f"{SCRATCH}/{new_id()}"  # of this process: another one may score into the folder too
    try:
        prepared, record = _plan_in_scratch(Store(f"{store.url}/{scratch}"), scoring)
    except BaseException:
        _remove_scratch(store, scratch)
        raise
    return PreparedFolder(ResultFolder(store, ""), prepared, record, time.monotonic() - started)


def _plan_in_scratch(scratch: Store, scoring: FileScoring) -> tuple[Prepared, EvaluationRecord]:
    revision = _revision(scratch, scoring)
    record = define(
        scratch,
        NAME,
        dataset=revision,
        task=None,
        scorers=scoring.wanted_scorers(),
        suite=lambda: "none",
        partition_by=scoring.partition_by,
        output_column=scoring.output_column,
    )
    return prepare(scratch, record, revision, limit=scoring.limit, part_rows=scoring.part_rows), record


def _check_place(store: Store) -> None:
    """Raise InputError for a folder with things in it that are no result."""
    if store.exists("plan.json"):
        return
    others = [key for key in store.list("") if not key.startswith((f"{SCRATCH}/", "."))]
    if others:
        raise InputError(
            f"{store.display} is no result folder and not empty (it has {others[0]!r}): name one that is empty or new"
        )


def score_registered(
    client: EvaluationClient, scoring: FileScoring, *, name: str | None = None, **run: Any
) -> EvaluationRun:
    """Score files as a run of the client's store; an equal run that is there is continued or returned.

    Args:
        name: of the evaluation and, slugged, of the dataset; None: that of the first file.
        run: as `EvaluationClient.run`.
    """
    name = name or PurePath(scoring.files[0]).stem or NAME
    revision = _revision(client.store, scoring, slug(name))
    ref = register_revision(client.store, revision)
    evaluation = client.create(
        name,
        dataset=ref,
        task=None,
        scorers=scoring.wanted_scorers(),
        partition_by=scoring.partition_by,
        output_column=scoring.output_column,
        reuse=True,
    )
    return client.run(evaluation.id, limit=scoring.limit, part_rows=scoring.part_rows, **{"new": False, **run})


def _remove_scratch(store: Store, scratch: str) -> None:
    for key in store.list(f"{scratch}/"):
        store.delete(key)
    folder = store.local_path(scratch)
    if folder is not None:  # object stores have no folders to leave behind
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # another process may be at work beside it
            folder.parent.rmdir()


def _revision(store: Store, scoring: FileScoring, name: str = NAME) -> Revision:
    if all(PurePath(file).suffix.casefold() == ".parquet" for file in scoring.files):
        return pin_files(scoring.files, name)
    ref: DatasetRevisionRef = DatasetClient(store).upload(
        name, list(scoring.files), column_types=scoring.types_of_texts(), delimiter=scoring.delimiter
    )
    return resolve_revision(store, ref)


def _texts_of(scorer: Any) -> Sequence[str]:
    """The columns that a built-in compares as text; own functions and SQL say by themselves what they take."""
    return scorer.inputs if hasattr(scorer, "to_json") and hasattr(scorer, "inputs") else ()


def is_csv(path: str) -> bool:
    """Whether a file is read as CSV."""
    return PurePath(path).suffix.casefold() == ".csv"
