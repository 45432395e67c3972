"""Functions with resources of their own: each is served by a pool of processes, and asked by the parts' workers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.engine import Place, Resources, Serve
from pipeline.evaluation.needed_secrets import check_secrets
from pipeline.evaluation.stages import TASK, Stage, scorer_name, scorer_stage, stage_schema, task_stage
from pipeline.functions import FunctionCaller, FunctionMaterial, FunctionScorer, Outcomes
from pipeline.records.evaluation import ScorerRecord

ROWS_A_REQUEST = 1_024  # rows: what a lost member costs, and enough to fill a GPU's batches
OWN = ("num_cpus", "num_gpus", "memory", "runtime_env")
"""Options that give a function a pool."""


def own_resources(material: FunctionMaterial) -> Resources | None:
    """What one process of a function asks for; None: it runs where the parts are worked on."""
    options = material.record.options
    if not any(name in options for name in OWN):
        return None
    return Resources(
        num_cpus=options.get("num_cpus", 1.0),
        num_gpus=options.get("num_gpus", 0.0),
        memory=options.get("memory"),
        runtime_env=options.get("runtime_env"),
    )


@dataclass(frozen=True)
class FunctionService:
    """The spec of a pool that calls one function."""

    material: FunctionMaterial
    resources: Resources
    scorer: ScorerRecord | None
    """None: it is the task."""
    output: pa.DataType
    """Of the task's outputs."""

    @property
    def name(self) -> str:
        """Of the stage."""
        return TASK if self.scorer is None else scorer_name(self.scorer)

    def open(self, place: Place) -> FunctionServer:
        """Make a member: loads the function."""
        check_secrets([(self.material.record.name, self.material.record.options)])
        caller = FunctionCaller(self.material, share=place.workers, limits=place.limits)
        if self.scorer is None:
            return FunctionServer(caller, task_stage(caller, self.output))
        return FunctionServer(caller, scorer_stage(FunctionScorer(caller), self.scorer))

    def stage(self, serve: Serve, on_rows: Callable[[int], None]) -> Stage:
        """The stage as a worker carries it out: by asking the pool.

        Args:
            serve: asks it.
            on_rows: told how many rows an answer had.
        """
        batch = self.material.record.options.get("batch") or 1
        size = batch * max(1, ROWS_A_REQUEST // batch)  # so that batches are the same as without a pool
        schema = stage_schema(self.scorer, self.output)

        def begin(rows: pa.Table, wanted: Sequence[int] | None) -> ServedCalls:
            return ServedCalls(serve, rows, wanted, size, on_rows)

        return Stage(self.name, schema, begin, partial(_arrays, schema))


class Request(NamedTuple):
    """Rows, and which of them to call."""

    rows: pa.Table
    wanted: Sequence[int] | None


class FunctionServer:
    """One open member."""

    def __init__(self, caller: FunctionCaller, stage: Stage) -> None:
        self._caller, self._stage = caller, stage

    def serve(self, request: Request) -> pa.Table:
        """The columns that the stage makes of the rows."""
        calls = self._stage.begin(request.rows, request.wanted)
        calls.run()
        return self._stage.table(calls.outcomes())

    def close(self) -> None:
        """Give back threads and the event loop."""
        self._caller.close()


class _ServedRow(NamedTuple):
    table: pa.Table
    place: int


class ServedCalls:
    """Rows that a pool is asked about, request by request; see `stages.Calls`."""

    def __init__(
        self, serve: Serve, rows: pa.Table, wanted: Sequence[int] | None, size: int, on_rows: Callable[[int], None]
    ) -> None:
        self._serve, self._table, self._wanted, self._size, self._on_rows = serve, rows, wanted, size, on_rows
        self._answers: list[pa.Table] = []
        self._n_told = 0

    def run(self) -> None:
        """Ask, and wait for the answers.

        Raises:
            LostServiceError: a member was lost, or gave no answer in time.
        """
        for first in range(0, self._table.num_rows, self._size):
            rows = self._table.slice(first, self._size)
            asked = self._asked(first, rows.num_rows)
            if asked == []:
                continue
            answer: pa.Table = self._serve(Request(rows, asked))
            self._answers.append(answer)
            self._on_rows(answer.num_rows)

    def outcomes(self) -> Outcomes:
        """What all rows came to."""
        return Outcomes(self.rows, _rows_of(self._answers), {})

    def news(self) -> Outcomes:
        """What has come in since `news` was asked before."""
        fresh = self._answers[self._n_told :]
        start = sum(answer.num_rows for answer in self._answers[: self._n_told])
        self._n_told += len(fresh)
        values = _rows_of(fresh)
        return Outcomes(self.rows[start : start + len(values)], values, {})

    @property
    def rows(self) -> Sequence[int]:
        """Positions in the table of the rows that are asked about, in order."""
        return range(self._table.num_rows) if self._wanted is None else self._wanted

    @property
    def untold(self) -> Sequence[int]:
        """Places in `rows` of those that were in no `news`."""
        return range(sum(answer.num_rows for answer in self._answers[: self._n_told]), len(self.rows))

    def _asked(self, first: int, n_rows: int) -> list[int] | None:
        if self._wanted is None:
            return None
        return [row - first for row in self._wanted if first <= row < first + n_rows]


def _rows_of(answers: Sequence[pa.Table]) -> list[Any]:
    return [_ServedRow(answer, place) for answer in answers for place in range(answer.num_rows)]


def _arrays(schema: pa.Schema, outcomes: Outcomes) -> list[pa.Array]:
    """The columns of answers, put together again."""
    pieces = [
        table.take(pa.array([row.place for row in rows], pa.int64())) for table, rows in _by_table(outcomes.values)
    ]
    return [column.combine_chunks() for column in pa.concat_tables([schema.empty_table(), *pieces]).columns]


def _by_table(rows: Sequence[_ServedRow]) -> list[tuple[pa.Table, list[_ServedRow]]]:
    groups = itertools.groupby(rows, key=lambda row: id(row.table))
    return [(members[0].table, members) for members in (list(group) for _, group in groups)]


def services_of(
    functions: Mapping[str, FunctionMaterial], task: str | None, scorers: Sequence[ScorerRecord], output: pa.DataType
) -> dict[str, FunctionService]:
    """The pools of an evaluation, by the name of their stage.

    Args:
        functions: by version id.
        task: version id of the task; None: there is none.
    """
    users: list[tuple[str | None, ScorerRecord | None]] = [(task, None)]
    users += [(scorer.function_version_id, scorer) for scorer in scorers]
    found: dict[str, FunctionService] = {}
    for version, scorer in users:
        resources = own_resources(functions[version]) if version else None
        if version and resources is not None:
            service = FunctionService(functions[version], resources, scorer, output)
            found[service.name] = service
    return found
