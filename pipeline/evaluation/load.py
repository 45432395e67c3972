"""In a worker: a definition's pins as things that run."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.errors import FunctionError
from pipeline.evaluation.evaluate import Evaluator
from pipeline.evaluation.stages import Stage, scorer_stage, task_stage
from pipeline.functions import FunctionCaller, FunctionMaterial, FunctionScorer, missing_names
from pipeline.records import columns
from pipeline.records.evaluation import EvaluationRecord, ScorerRecord
from pipeline.records.limits import LimitDesk
from scorers import SqlExpression, builtin_from_json
from scorers.base import Scorer


def load_evaluator(
    record: EvaluationRecord,
    result_schema: str,
    functions: Mapping[str, FunctionMaterial],
    *,
    workers: int,
    limits: LimitDesk | None = None,
) -> Evaluator:
    """An evaluator of a definition. This is where user code is loaded.

    Args:
        result_schema: Arrow's IPC form, base64.
        functions: by version id.
        workers: among how many workers the limits of a function are split.
        limits: hands out what rate limits permit, to all workers; None: each keeps to its share.

    Raises:
        FunctionError: a secret is not set on this node; found before the first row.
    """
    _check_secrets(record, functions.values())
    callers = {
        version: FunctionCaller(material, share=workers, limits=limits) for version, material in functions.items()
    }
    task = callers.get(record.task_function_version_id or "")
    sql = _sql_evaluator(record.scorers)
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(result_schema)))
    return Evaluator(
        schema=schema,
        task=task_stage(task, schema.field(columns.OUTPUT).type) if task else None,
        output_column=record.output_column,
        scorers=[(scorer, _scorer(scorer, callers)) for scorer in record.scorers],
        sql=sql,
        finished=lambda: sum(caller.rows_finished for caller in callers.values()),
        closing=[*(caller.close for caller in callers.values()), *([sql.close] if sql else [])],
    )


def _check_secrets(record: EvaluationRecord, functions: Iterable[FunctionMaterial]) -> None:
    asked = [(material.record.name, material.record.options) for material in functions]
    asked += [(scorer.name, scorer.function_options) for scorer in record.scorers]
    for user, options in asked:
        for name in missing_names(options):
            raise FunctionError(
                f"{name} is not set on node {socket.gethostname()}, and {user!r} needs it: "
                "export it there, before Ray is started"
            )


def _scorer(record: ScorerRecord, callers: Mapping[str, FunctionCaller]) -> Scorer | Stage | None:
    if record.builtin is not None:
        return builtin_from_json(record.builtin)
    if record.function_version_id is not None:
        return scorer_stage(FunctionScorer(callers[record.function_version_id]), record)
    return None


def _sql_evaluator(records: Sequence[ScorerRecord]) -> Any:
    expressions = [SqlExpression(record.name, record.sql_expression) for record in records if record.sql_expression]
    if not expressions:
        return None
    from scorers._sql import SqlEvaluator

    return SqlEvaluator(expressions)
