"""Rows in, rows with outputs and scores out. Pure: knows no store, no run and no engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import FailingRunError
from pipeline.evaluation.score_rows import OwnedScores, ScoredRows, owned_scores, scatter_sql, score_rows
from pipeline.evaluation.stages import Carrier, Plain, Stage, outputs_of, scores_of
from pipeline.evaluation.sums import output_sums, score_sums
from pipeline.records import columns
from pipeline.records.evaluation import ScorerRecord
from pipeline.records.owners import Owner
from pipeline.records.plan import Part
from pipeline.records.summary import PartSums
from scorers.base import Scorer

ALIKE_ROWS = 100  # rows; when the first so many all fail alike, the task is broken and not the data


class TaskColumns(Protocol):
    """What a task makes of some rows: one entry a row in each column."""

    @property
    def output(self) -> pa.Array:
        """The outputs; null where the task failed."""

    @property
    def error(self) -> pa.Array:
        """Text; null where the task did not fail."""

    @property
    def owner(self) -> pa.Array:
        """Text; null where the task did not fail."""


class Sql(Protocol):
    """Evaluates all SQL expressions of a run over a table."""

    def evaluate(self, rows: pa.Table) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
        """Values and failures by name: float64 and bool, one entry a row."""


class Evaluated(NamedTuple):
    """Some rows with their outputs and scores."""

    rows: pa.Table
    sums: PartSums


@dataclass
class Evaluator:
    """Makes an output for each row, and hands rows with an output to the scorers. May be used by several threads."""

    schema: pa.Schema
    """The schema of the result."""
    task: Stage | None
    output_column: str | None
    scorers: Sequence[tuple[ScorerRecord, Scorer | Stage | None]]
    """In the order of their columns; None for SQL scorers, which `sql` evaluates together."""
    sql: Sql | None = None
    finished: Callable[[], int] = lambda: 0
    """How many rows' calls have ended, of all functions."""
    closing: Sequence[Callable[[], None]] = ()
    """What gives back threads and processes."""
    _in_turn: threading.Lock = field(default_factory=threading.Lock)
    """Scorers that do not wait work for one thread at a time: what they hold is not made for more."""

    @property
    def stages(self) -> list[Stage]:
        """What is dear: the task and the scorers that are functions."""
        scorers = [scorer for _, scorer in self.scorers if isinstance(scorer, Stage)]
        return scorers if self.task is None else [self.task, *scorers]

    def close(self) -> None:
        """Give back threads and processes."""
        for close in self.closing:
            close()

    def evaluate(self, rows: pa.Table, first_row: int, carrier: Carrier | None = None) -> Evaluated:
        """Outputs and scores for each row.

        Args:
            rows: a slice of the dataset.
            first_row: its position in the revision.
            carrier: carries out the stages; None: plainly.

        Raises:
            FailingRunError: the slice begins the dataset and its first 100 rows all failed alike.
        """
        carrier = carrier or Plain()
        row_ids = _row_ids(first_row, rows.num_rows)
        outputs = self._outputs(rows, row_ids, carrier, has_head=first_row == 0 and rows.num_rows >= ALIKE_ROWS)
        scored = self._score(_with_output(rows, outputs.output), row_ids, outputs.error, carrier)
        arrays = self._arrange(rows, outputs, scored, row_ids)
        sums = PartSums(
            output=output_sums(outputs.error, outputs.owner),
            scores={record.name: score_sums(scored[record.name], outputs.error) for record, _ in self.scorers},
        )
        return Evaluated(pa.Table.from_arrays(arrays, schema=self.schema), sums)

    def carry_out(self, rows: pa.Table, first_row: int, carrier: Carrier) -> None:
        """The stages alone, of some rows; what they make is left to the carrier."""
        row_ids = _row_ids(first_row, rows.num_rows)
        outputs = self._outputs(rows, row_ids, carrier, has_head=False)
        has_output = pc.is_null(outputs.error)
        handed, handed_ids = _with_output(rows, outputs.output).filter(has_output), row_ids.filter(has_output)
        for stage in self.stages:
            if stage is not self.task and handed.num_rows:
                carrier.carry_out(stage, handed, handed_ids)

    def _outputs(self, rows: pa.Table, row_ids: pa.Array, carrier: Carrier, *, has_head: bool) -> TaskColumns:
        if self.task is None:
            return _Outputs.of_column(rows, self.output_column or columns.OUTPUT)
        if not has_head:
            return outputs_of(carrier.carry_out(self.task, rows, row_ids))
        head = outputs_of(carrier.carry_out(self.task, rows.slice(0, ALIKE_ROWS), row_ids.slice(0, ALIKE_ROWS)))
        refuse_broken_task(head.error)
        rest = carrier.carry_out(self.task, rows.slice(ALIKE_ROWS), row_ids.slice(ALIKE_ROWS))
        return _Outputs.joined([head, outputs_of(rest)])

    def _score(
        self, rows: pa.Table, row_ids: pa.Array, output_error: pa.Array, carrier: Carrier
    ) -> dict[str, ScoredRows]:
        failed = pc.is_valid(output_error)
        if pc.any(failed).as_py():
            rows, row_ids = rows.filter(pc.invert(failed)), row_ids.filter(pc.invert(failed))

        def score(scorer: Scorer | Stage, handed: pa.Table) -> OwnedScores:
            if isinstance(scorer, Stage):
                return scores_of(carrier.carry_out(scorer, handed, row_ids))
            with self._in_turn:
                return owned_scores(scorer, handed)

        scored = {
            record.name: score_rows(partial(score, scorer), record, rows, failed)
            for record, scorer in self.scorers
            if scorer is not None
        }
        if self.sql is not None:
            with self._in_turn:
                values, failures = self.sql.evaluate(rows)
            scored |= {name: scatter_sql(value, failures[name], failed) for name, value in values.items()}
        return scored

    def _arrange(
        self, rows: pa.Table, outputs: TaskColumns, scored: Mapping[str, ScoredRows], row_ids: pa.Array
    ) -> list[pa.Array]:
        arrays = [rows[name] for name in rows.column_names]
        if columns.OUTPUT not in rows.column_names:
            arrays.append(outputs.output)
        arrays.append(outputs.error)
        for record, _ in self.scorers:
            arrays += scored[record.name].columns(record)
        names = [record.name for record, _ in self.scorers]
        return [*arrays, row_ids, outputs.owner, _owner_maps(names, scored, rows.num_rows)]


def _row_ids(first_row: int, n_rows: int) -> pa.Array:
    return pa.array(np.arange(first_row, first_row + n_rows, dtype=np.int64))


def refuse_broken_task(errors: pa.Array) -> None:
    """Raise FailingRunError where every row failed with one and the same text."""
    distinct = pc.unique(errors)
    if len(distinct) == 1 and distinct[0].is_valid:
        raise FailingRunError(
            f"the first {len(errors)} rows all failed alike, so the run was stopped before it costs more: "
            f"{distinct[0].as_py()}"
        )


class FirstRows:
    """The rows that begin a dataset, where they come in steps of fewer than are judged."""

    def __init__(self, part: Part) -> None:
        self._errors: list[pa.Array] | None = [] if part.first_row == 0 and part.rows >= ALIKE_ROWS else None
        """What has come; None: nothing is to be judged, or it has been."""

    def see(self, errors: pa.ChunkedArray) -> None:
        """Take the errors of the next rows into account. Raises FailingRunError where the first 100 failed alike."""
        if self._errors is None:
            return
        self._errors += errors.chunks
        if sum(map(len, self._errors)) >= ALIKE_ROWS:
            head, self._errors = pa.concat_arrays(self._errors).slice(0, ALIKE_ROWS), None
            refuse_broken_task(head)


class _Outputs(NamedTuple):
    output: pa.Array | pa.ChunkedArray
    error: pa.Array
    owner: pa.Array

    @classmethod
    def of_column(cls, rows: pa.Table, name: str) -> _Outputs:
        n = rows.num_rows
        return cls(rows[name], pa.nulls(n, columns.TEXT), pa.nulls(n, pa.string()))

    @classmethod
    def joined(cls, pieces: Sequence[TaskColumns]) -> _Outputs:
        return cls(*(pa.concat_arrays([getattr(piece, field) for piece in pieces]) for field in cls._fields))


def _with_output(rows: pa.Table, output: pa.Array) -> pa.Table:
    if columns.OUTPUT in rows.column_names:
        return rows
    return rows.append_column(columns.OUTPUT, output)


def _owner_maps(names: Sequence[str], scored: Mapping[str, ScoredRows], n_rows: int) -> pa.Array:
    """Who is to blame, by scorer, per row; null where no scorer failed."""
    failing = [(name, scored[name].owner) for name in names if scored[name].owner.null_count < n_rows]
    if not failing:
        return pa.nulls(n_rows, columns.SCORER_OWNERS)
    maps: list[list[tuple[str, Owner]] | None] = [None] * n_rows
    for name, owners in failing:
        for row in pc.indices_nonzero(pc.is_valid(owners)).to_pylist():
            maps[row] = [*(maps[row] or []), (name, owners[row].as_py())]
    return pa.array(maps, columns.SCORER_OWNERS)
