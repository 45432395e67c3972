"""Rows in, rows with outputs and scores out. Pure: knows no store, no run and no engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import FailingRunError
from pipeline.evaluation.score_rows import ScoredRows, scatter_sql, score_rows
from pipeline.evaluation.sums import output_sums, score_sums
from pipeline.records import columns
from pipeline.records.evaluation import ScorerRecord
from pipeline.records.owners import Owner
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
    """Makes an output for each row, and hands rows with an output to the scorers."""

    schema: pa.Schema
    """The schema of the result."""
    task: Callable[[pa.Table], TaskColumns] | None
    output_column: str | None
    scorers: Sequence[tuple[ScorerRecord, Scorer | None]]
    """In the order of their columns; None for SQL scorers, which `sql` evaluates together."""
    sql: Sql | None = None
    closing: Sequence[Callable[[], None]] = ()
    """What gives back threads and processes."""

    def close(self) -> None:
        """Give back threads and processes."""
        for close in self.closing:
            close()

    def evaluate(self, rows: pa.Table, first_row: int) -> Evaluated:
        """Outputs and scores for each row.

        Args:
            rows: a slice of the dataset.
            first_row: its position in the revision.

        Raises:
            FailingRunError: the slice begins the dataset and its first 100 rows all failed alike.
        """
        outputs = self._outputs(rows, first_row)
        scored = self._score(_with_output(rows, outputs.output), outputs.error)
        arrays = self._arrange(rows, outputs, scored, first_row)
        sums = PartSums(
            output=output_sums(outputs.error, outputs.owner),
            scores={record.name: score_sums(scored[record.name], outputs.error) for record, _ in self.scorers},
        )
        return Evaluated(pa.Table.from_arrays(arrays, schema=self.schema), sums)

    def _outputs(self, rows: pa.Table, first_row: int) -> TaskColumns:
        if self.task is None:
            return _Outputs.of_column(rows, self.output_column or columns.OUTPUT)
        if first_row > 0 or rows.num_rows < ALIKE_ROWS:
            return self.task(rows)
        head = self.task(rows.slice(0, ALIKE_ROWS))
        refuse_broken_task(head.error)
        return _Outputs.joined([head, self.task(rows.slice(ALIKE_ROWS))])

    def _score(self, rows: pa.Table, output_error: pa.Array) -> dict[str, ScoredRows]:
        failed = pc.is_valid(output_error)
        handed = rows.filter(pc.invert(failed)) if pc.any(failed).as_py() else rows
        scored = {
            record.name: score_rows(scorer, record, handed, failed)
            for record, scorer in self.scorers
            if scorer is not None
        }
        if self.sql is not None:
            values, failures = self.sql.evaluate(handed)
            scored |= {name: scatter_sql(value, failures[name], failed) for name, value in values.items()}
        return scored

    def _arrange(
        self, rows: pa.Table, outputs: TaskColumns, scored: Mapping[str, ScoredRows], first_row: int
    ) -> list[pa.Array]:
        arrays = [rows[name] for name in rows.column_names]
        if columns.OUTPUT not in rows.column_names:
            arrays.append(outputs.output)
        arrays.append(outputs.error)
        for record, _ in self.scorers:
            arrays += scored[record.name].columns(record)
        row_ids = pa.array(range(first_row, first_row + rows.num_rows), pa.int64())
        names = [record.name for record, _ in self.scorers]
        return [*arrays, row_ids, outputs.owner, _owner_maps(names, scored, rows.num_rows)]


def refuse_broken_task(errors: pa.Array) -> None:
    """Raise FailingRunError where every row failed with one and the same text."""
    distinct = pc.unique(errors)
    if len(distinct) == 1 and distinct[0].is_valid:
        raise FailingRunError(
            f"the first {len(errors)} rows all failed alike, so the run was stopped before it costs more: "
            f"{distinct[0].as_py()}"
        )


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
