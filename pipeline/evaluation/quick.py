"""Score rows in one call, in this process: no store, no Ray."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from pipeline.engine import Place
from pipeline.evaluation.catalog import new_id
from pipeline.evaluation.definition import define
from pipeline.evaluation.expected import read_expected_from
from pipeline.evaluation.load import load_evaluator
from pipeline.evaluation.prepare import load_functions, schema_of
from pipeline.evaluation.scores import Scores
from pipeline.records import columns
from pipeline.records.dataset import Revision, encode_schema
from pipeline.records.evaluation import EvaluationRecord
from pipeline.records.summary import summarise
from pipeline.store import Store, open_source


def score(
    data: Any,
    *,
    scorers: Iterable[Any],
    task: Any = None,
    output: str = columns.OUTPUT,
    expected: str | None = None,
) -> Scores:
    """Score rows in this process.

    Args:
        data: every form that `DatasetClient.upload` takes: a frame, a table, rows, columns, files.
        scorers: built-ins, SQL expressions, `@function`s; at least one.
        task: a `@function` that makes the output; None: it is there already.
        output: the column that holds the output, where there is no task.
        expected: the column that built-ins read where they would read `expected`; None: that one.

    Raises:
        TypeError, ValueError, DatasetError, FunctionError: as `Evaluation.create`.
    """
    source = open_source(data)
    wanted = scorers if expected is None else read_expected_from(expected, scorers)
    shape = Revision(dataset="rows", arrow_schema=encode_schema(source.schema), parts=())
    with _scratch_store() as store:
        record = define(
            store,
            "score",
            dataset=shape,
            task=task,
            scorers=wanted,
            suite=lambda: "none",
            output_column=None if task is not None else output,
        )
        return _evaluate(store, record, shape, source.tables())


def _evaluate(store: Store, record: EvaluationRecord, shape: Revision, tables: Iterator[pa.Table]) -> Scores:
    functions = load_functions(store, record)
    schema = schema_of(record, shape, functions)
    evaluator = load_evaluator(record, encode_schema(schema), functions, {}, Place())
    try:
        done, first, sums = [schema.empty_table()], 0, []
        for rows in tables:
            evaluated = evaluator.evaluate(rows, first)
            first += rows.num_rows
            done.append(evaluated.rows)
            sums.append(evaluated.sums.model_dump(mode="json"))
    finally:
        evaluator.close()
    names = [scorer.name for scorer in record.scorers]
    return Scores(pa.concat_tables(done), summarise(first, names, sums))


@contextmanager
def _scratch_store() -> Iterator[Store]:
    """Functions need a place to be pinned; this one is gone afterwards."""
    store = Store(f"memory://assay-score-{new_id()}")
    try:
        yield store
    finally:
        for key in store.list(""):
            store.delete(key)
