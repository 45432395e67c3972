"""Tasks and scorers as an evaluation takes them: pinned, and bound to columns before any work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from pipeline.errors import FunctionSignatureError, InputError
from pipeline.functions import (
    FunctionOptions,
    RemoteFunction,
    TrustPolicy,
    check_columns,
    deploy_for,
    require_scorer,
    require_task,
)
from pipeline.records import columns
from pipeline.records.evaluation import ScorerRecord
from pipeline.records.function import FunctionRecord
from pipeline.records.names import nearest
from pipeline.store import Store
from scorers import SqlExpression


def check_task(task: Any, output_column: str | None) -> None:
    """Refuse what is no task, before any request.

    Raises:
        TypeError: a bare callable, SQL or another value.
        ValueError: neither a task nor an output column, or both.
    """
    if task is None:
        if not output_column:
            raise InputError("pass a task, or task=None with output_column= to score a column that is there")
        return
    if isinstance(task, SqlExpression):
        raise TypeError("a SQL expression can be a scorer, not a task")
    if not isinstance(task, RemoteFunction):
        raise TypeError(f"the task {_named(task)}: decorate it with @function")
    if output_column is not None:
        raise InputError(
            f"a task makes the output, so output_column={output_column!r} has no place: pass one of the two"
        )


def attach_task(store: Store, task: Any, schema: pa.Schema, trust: TrustPolicy | None) -> FunctionRecord | None:
    """Pin the task and bind it to the dataset's columns; None where there is none."""
    if task is None:
        return None
    record = deploy_for(store, task, trust=trust)
    require_task(record)
    check_columns(record, schema)
    return record


def output_type(schema: pa.Schema, task: FunctionRecord | None, output_column: str | None) -> pa.DataType:
    """The Arrow type of the output.

    Raises:
        InputError: no dataset column of that name.
    """
    if task is not None:
        return require_task(task)
    name = output_column or columns.OUTPUT
    if name not in schema.names:
        raise InputError(
            f"output_column names the column {name!r}, which the dataset does not have{nearest(name, schema.names)}"
        )
    return schema.field(name).type


def check_scorers(scorers: Iterable[Any]) -> list[Any]:
    """The scorers as a list, each of a kind that can be pinned.

    Raises:
        TypeError: not a list, or a bare callable in it.
        ValueError: none.
    """
    if isinstance(scorers, (str, Mapping, SqlExpression, RemoteFunction)) or not isinstance(scorers, Iterable):
        raise TypeError(f"scorers must be a list, found one {type(scorers).__name__}: write scorers=[...]")
    found = list(scorers)
    if not found:
        raise ValueError("scorers must not be empty: pass at least one")
    for scorer in found:
        if not isinstance(scorer, (SqlExpression, RemoteFunction)) and not _is_builtin(scorer):
            raise TypeError(
                f"the scorer {_named(scorer)}: decorate a function of your own with @function, and call a built-in, "
                "as in exact_match()"
            )
    return found


def attach_scorers(
    store: Store, scorers: list[Any], schema: pa.Schema, output: pa.DataType, trust: TrustPolicy | None
) -> tuple[ScorerRecord, ...]:
    """Pin the scorers and bind them to the dataset's columns and `output`.

    Raises:
        FunctionSignatureError, InputError: a column is missing, or a result is no score.
    """
    available = {**dict(zip(schema.names, schema.types, strict=True)), columns.OUTPUT: output}
    sql_inputs = check_sql([scorer for scorer in scorers if isinstance(scorer, SqlExpression)], available)
    records: list[ScorerRecord] = []
    for number, scorer in enumerate(scorers, start=1):
        if isinstance(scorer, SqlExpression):
            records.append(_sql(f"scorer-{number}", scorer, sql_inputs[scorer.name]))
        elif isinstance(scorer, RemoteFunction):
            function = deploy_for(store, scorer, trust=trust)
            records.append(_function(f"scorer-{number}", function, schema, output))
        else:
            records.append(_builtin(f"scorer-{number}", scorer, available))
    return tuple(records)


def check_sql(expressions: list[SqlExpression], available: Mapping[str, pa.DataType]) -> dict[str, tuple[str, ...]]:
    """The columns that each expression reads.

    Raises:
        ValueError: an expression that is not allowed, names no column, or yields no number.
    """
    if not expressions:
        return {}
    from scorers._sql import SqlEvaluator

    with SqlEvaluator(expressions) as evaluator:
        found: dict[str, tuple[str, ...]] = evaluator.check(pa.schema(list(available.items())))
    return found


def _named(found: Any) -> str:
    if callable(found):
        return f"{getattr(found, '__name__', type(found).__name__)!r} is a bare callable"
    return f"is of type {type(found).__name__}"


def _is_builtin(scorer: Any) -> bool:
    return hasattr(scorer, "to_json") and hasattr(scorer, "score") and not isinstance(scorer, type)


def _sql(scorer_id: str, scorer: SqlExpression, inputs: tuple[str, ...]) -> ScorerRecord:
    return ScorerRecord(
        id=scorer_id, name=scorer.name, inputs=inputs, version=scorer.version, sql_expression=scorer.expression
    )


def _function(scorer_id: str, function: FunctionRecord, schema: pa.Schema, output: pa.DataType) -> ScorerRecord:
    require_scorer(function)
    inputs = check_columns(function, schema, {columns.OUTPUT: output})
    return ScorerRecord(
        id=scorer_id,
        name=function.name,
        inputs=inputs,
        version=function.version_id,
        function_version_id=function.version_id,
        emits_list=_emits_list(function),
    )


def _emits_list(function: FunctionRecord) -> bool:
    """Whether a row's result is a list; the list that a batch function returns holds the rows."""
    inner = function.returns.removeprefix("list[") if function.options.get("batch") else function.returns
    return "list[" in inner


def _builtin(scorer_id: str, scorer: Any, available: Mapping[str, pa.DataType]) -> ScorerRecord:
    options = FunctionOptions.of(**dict(scorer.function_options))
    for name in scorer.inputs:
        if name not in available:
            raise FunctionSignatureError(
                f"scorer {scorer.name!r} reads the column {name!r}, which the dataset does not have"
                f"{nearest(name, available)}"
            )
    return ScorerRecord(
        id=scorer_id,
        name=scorer.name,
        inputs=scorer.inputs,
        version=scorer.version,
        builtin=scorer.to_json(),
        function_options=options.to_json(),
    )
