"""Cut an evaluation into numbered parts, and pin all that decides its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.errors import InputError, NoRowsError
from pipeline.records.dataset import Revision, encode_schema
from pipeline.records.evaluation import EvaluationRecord
from pipeline.records.function import FunctionRecord
from pipeline.records.plan import Part, Plan

BULK_ROWS = 65_536  # rows a part where built-in and SQL scorers alone run
PYTHON_ROWS = 4_096  # rows a part where a Python function runs: its cost is not known, and a part is what a kill loses
MIN_ASYNC_ROWS = 1_000  # rows a part where a function waits for a model
ASYNC_ROUNDS = 4  # a part of async rows is at least so many times the rows in flight
MAX_PART_BYTES = 64 * 1024 * 1024  # of rows in memory
COMPRESSION = 3  # bytes in memory a byte of zstd Parquet, about: text of 280 characters measured 2.5 to 3
ASYNC_CONCURRENCY = 64  # rows in flight where an async function does not say


class PlanPreview(NamedTuple):
    """What a run would do."""

    parts: int
    rows: int
    calls: dict[str, int]
    """Calls of Python functions, by name, retries not counted."""


def make_plan(
    record: EvaluationRecord,
    revision: Revision,
    functions: Mapping[str, FunctionRecord],
    schema: pa.Schema,
    limit: int | None = None,
    at_most: int | None = None,
) -> Plan:
    """The plan of a run: equal definitions on equal data give equal plans.

    Args:
        record: the definition.
        revision: the data it pins.
        functions: the records of all functions it uses, by version id.
        schema: of the result.
        limit: score only so many rows from the first; None: all.
        at_most: rows a part; None: after the cost of a row.

    Raises:
        InputError: no rows, or a limit below 1.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}: give at least 1, or leave it out to score all rows")
    if at_most is not None and at_most < 1:
        raise InputError(f"part_rows is {at_most}: give at least 1, or leave it out")
    rows = revision.rows if limit is None else min(limit, revision.rows)
    if rows == 0:
        read_from = f" (from {revision.source['from']})" if revision.source.get("from") else ""
        raise NoRowsError(f"dataset {record.dataset_id!r}{read_from} has no rows: nothing can be scored")
    size = min(part_rows(revision, functions), at_most or BULK_ROWS)
    parts = tuple(
        Part(index=index, first_row=first, rows=min(size, rows - first))
        for index, first in enumerate(range(0, rows, size))
    )
    return Plan(kind="evaluation", pins=_pins(record, schema), parts=parts)


def preview(plan: Plan, record: EvaluationRecord) -> PlanPreview:
    """What a run of this plan would do."""
    calls = {record.task_name: plan.rows} if record.task_name else {}
    calls |= {scorer.name: plan.rows for scorer in record.scorers if scorer.function_version_id}
    return PlanPreview(len(plan.parts), plan.rows, calls)


def part_rows(revision: Revision, functions: Mapping[str, FunctionRecord]) -> int:
    """Rows a part, after the cost of a row."""
    size = BULK_ROWS
    for function in functions.values():
        if function.is_async:
            size = min(size, max(MIN_ASYNC_ROWS, ASYNC_ROUNDS * rows_in_flight(function)))
        elif not function.options.get("batch"):
            size = min(size, PYTHON_ROWS)
    return max(1, min(size, _rows_in_memory(revision)))


def parts_at_once(record: EvaluationRecord, functions: Mapping[str, FunctionRecord]) -> int:
    """How many parts a worker has in work: two where the rows of a part wait for a task, or else for a scorer.

    Functions that set environment variables do so while they are called, so others must not be called meanwhile.
    """
    task = functions.get(record.task_function_version_id or "")
    waits = task.is_async if task else any(function.is_async for function in functions.values())
    environments = [function.options.get("env") or {} for function in functions.values()]
    return 2 if waits and all(env == environments[0] for env in environments) else 1


def rows_in_flight(function: FunctionRecord) -> int:
    """Rows of an async function that wait at once, over all workers."""
    policy = function.options.get("concurrency")
    return int(policy["max_concurrent"]) if policy else ASYNC_CONCURRENCY


def _rows_in_memory(revision: Revision) -> int:
    stored = sum(part.bytes for part in revision.parts)
    if not stored or not revision.rows:
        return BULK_ROWS
    return max(1, MAX_PART_BYTES * revision.rows // (stored * COMPRESSION))


def _pins(record: EvaluationRecord, schema: pa.Schema) -> dict[str, Any]:
    return {
        "dataset_revision": record.dataset_revision_id,
        "task": record.task_function_version_id,
        "output_column": record.output_column,
        "scorers": [
            {"name": scorer.name, "version": scorer.version, "inputs": list(scorer.inputs)} for scorer in record.scorers
        ],
        "partition_by": list(record.partition_by),
        "written_schema": encode_schema(schema),
        "writer": f"pyarrow {pa.__version__}",
    }
