"""What is dear in an evaluation: the calls of the task, and of each scorer that is a function. Each is a stage.

The columns that a stage makes of some rows do not depend on which other rows were there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from pipeline.evaluation.score_rows import OwnedScores
from pipeline.functions import CallColumns, FunctionCaller, FunctionScorer, Outcomes
from pipeline.records import columns
from pipeline.records.evaluation import ScorerRecord
from pipeline.records.owners import Owner
from scorers.base import ScoreColumns

TASK = "task"
_ERROR, _OWNER = "error", "owner"


class Calls(Protocol):
    """Calls of a function for some rows of a table: of this process, or of a pool."""

    @property
    def rows(self) -> Sequence[int]:
        """The positions in the table of the rows that are called, in order."""

    @property
    def untold(self) -> Sequence[int]:
        """Places in `rows` of those that were in no `news`."""

    def run(self) -> None:
        """Make the calls, and wait for them."""

    def outcomes(self) -> Outcomes:
        """What all rows came to, once the calls were made."""

    def news(self) -> Outcomes:
        """What has come in since `news` was asked before: for another thread, while the calls go on."""


class Stage(NamedTuple):
    """One function, as the columns that it makes of rows."""

    name: str
    schema: pa.Schema
    """Of what it makes; `error` and `owner` are among them."""
    begin: Callable[[pa.Table, Sequence[int] | None], Calls]
    """The calls for the rows at some positions of a table (None: all), not yet made."""
    arrays: Callable[[Outcomes], Sequence[pa.Array]]
    """The columns of what calls came to."""

    def table(self, outcomes: Outcomes) -> pa.Table:
        """The columns of what calls came to, one row for each of theirs."""
        arrays = self.arrays(outcomes)
        return pa.table([array.cast(field.type) for array, field in zip(arrays, self.schema, strict=True)], self.schema)

    def failed(self, error: str, n_rows: int) -> pa.Table:
        """The columns of rows that failed, and not for anything that the function did."""
        stated = {_ERROR: error, _OWNER: Owner.HARNESS.value}
        return pa.table([pa.repeat(pa.scalar(stated.get(f.name), f.type), n_rows) for f in self.schema], self.schema)


class Carrier(Protocol):
    """Carries stages out."""

    def carry_out(self, stage: Stage, rows: pa.Table, row_ids: pa.Array) -> pa.Table:
        """The columns that a stage makes of some rows.

        Args:
            row_ids: int64; the position of each row in the revision.
        """
        ...


class Plain:
    """Makes all calls, and keeps nothing."""

    def carry_out(self, stage: Stage, rows: pa.Table, row_ids: pa.Array) -> pa.Table:  # noqa: ARG002 - the protocol's
        """See Carrier."""
        calls = stage.begin(rows, None)
        calls.run()
        return stage.table(calls.outcomes())


def task_stage(caller: FunctionCaller, output: pa.DataType) -> Stage:
    """The stage of a task whose outputs have this type."""
    return Stage(TASK, stage_schema(None, output), caller.begin, caller.columns_of)


def stage_schema(scorer: ScorerRecord | None, output: pa.DataType) -> pa.Schema:
    """The columns that a stage makes: of a scorer, or (None) of a task whose outputs have this type."""
    if scorer is None:
        return pa.schema([(columns.OUTPUT, output), (_ERROR, columns.TEXT), (_OWNER, pa.string())])
    fields = [("value", pa.float64()), (_ERROR, columns.TEXT), ("metadata", columns.TEXT)]
    if scorer.emits_list:
        fields.append(("values", columns.VALUES))
    return pa.schema([*fields, (_OWNER, pa.string())])


def scorer_name(record: ScorerRecord) -> str:
    """The name of the stage of a scorer."""
    return f"scorer {record.name}"


def outputs_of(made: pa.Table) -> CallColumns:
    """What the stage of a task made."""
    return CallColumns(*map(_whole, made.columns))


def scorer_stage(scorer: FunctionScorer, record: ScorerRecord) -> Stage:
    """The stage of a scorer."""

    def arrays(outcomes: Outcomes) -> list[pa.Array]:
        scored, owner = scorer.columns_of(outcomes)
        values = pa.nulls(len(owner), columns.VALUES) if scored.values is None else scored.values
        return [scored.value, scored.error, scored.metadata, *([values] if record.emits_list else []), owner]

    return Stage(scorer_name(record), stage_schema(record, pa.null()), scorer.begin, arrays)


def scores_of(made: pa.Table) -> OwnedScores:
    """What the stage of a scorer made."""
    found = dict(zip(made.column_names, map(_whole, made.columns), strict=True))
    scores = ScoreColumns(found["value"], found[_ERROR], found["metadata"], found.get("values"))
    return OwnedScores(scores, found[_OWNER])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """One chunk: what is added up must not depend on how the rows came."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
