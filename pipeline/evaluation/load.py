"""In a worker: a definition's pins as things that run."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipeline.engine import Place
from pipeline.evaluation.evaluate import Evaluator
from pipeline.evaluation.needed_secrets import check_secrets
from pipeline.evaluation.served import FunctionService
from pipeline.evaluation.stages import TASK, Stage, scorer_name, scorer_stage, task_stage
from pipeline.functions import FunctionCaller, FunctionMaterial, FunctionScorer
from pipeline.records import columns
from pipeline.records.evaluation import EvaluationRecord, ScorerRecord
from scorers import SqlExpression, builtin_from_json
from scorers.base import Scorer


def load_evaluator(
    record: EvaluationRecord,
    result_schema: str,
    functions: Mapping[str, FunctionMaterial],
    pools: Mapping[str, FunctionService],
    place: Place,
) -> Evaluator:
    """An evaluator of a definition. This is where user code is loaded.

    Args:
        result_schema: Arrow's IPC form, base64.
        functions: by version id.
        pools: functions with resources of their own, by the name of their stage.
        place: where the worker is opened; functions that are not served there are loaded here.

    Raises:
        FunctionError: a secret is not set on this node; found before the first row.
    """
    loading = _Loading(functions, pools, place)
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(result_schema)))
    task = loading.task(record, schema)
    scorers = [(scorer, loading.scorer(scorer)) for scorer in record.scorers]
    sql = _sql_evaluator(record.scorers)
    return Evaluator(
        schema=schema,
        task=task,
        output_column=record.output_column,
        scorers=scorers,
        sql=sql,
        finished=loading.finished,
        closing=[loading.close, *([sql.close] if sql else [])],
    )


class _Loading:
    """Makes the stages of one worker: each function is loaded once, and here only if no pool serves it."""

    def __init__(
        self, functions: Mapping[str, FunctionMaterial], pools: Mapping[str, FunctionService], place: Place
    ) -> None:
        self._functions, self._pools, self._place = functions, pools, place
        self._callers: dict[str, FunctionCaller] = {}
        self._n_served = 0

    def task(self, record: EvaluationRecord, schema: pa.Schema) -> Stage | None:
        """The stage of the task; None where there is none."""
        version = record.task_function_version_id
        if version is None:
            return None
        return self._served(TASK) or task_stage(self._caller(version), schema.field(columns.OUTPUT).type)

    def scorer(self, record: ScorerRecord) -> Scorer | Stage | None:
        """A scorer; None for SQL."""
        if record.builtin is not None:
            check_secrets([(record.name, record.function_options)])
            return builtin_from_json(record.builtin)
        if record.function_version_id is None:
            return None
        served = self._served(scorer_name(record))
        return served or scorer_stage(FunctionScorer(self._caller(record.function_version_id)), record)

    def finished(self) -> int:
        """Rows whose calls have ended, of all functions."""
        return self._n_served + sum(caller.rows_finished for caller in self._callers.values())

    def close(self) -> None:
        """Give back threads and event loops."""
        for caller in self._callers.values():
            caller.close()

    def _served(self, name: str) -> Stage | None:
        serve = self._place.services.get(name)
        return None if serve is None else self._pools[name].stage(serve, self._count)

    def _count(self, n_rows: int) -> None:
        self._n_served += n_rows

    def _caller(self, version: str) -> FunctionCaller:
        if version not in self._callers:
            material = self._functions[version]
            check_secrets([(material.record.name, material.record.options)])
            place = self._place
            self._callers[version] = FunctionCaller(material, share=place.workers, limits=place.limits)
        return self._callers[version]


def _sql_evaluator(records: Sequence[ScorerRecord]) -> Any:
    expressions = [SqlExpression(record.name, record.sql_expression) for record in records if record.sql_expression]
    if not expressions:
        return None
    from scorers._sql import SqlEvaluator

    return SqlEvaluator(expressions)
