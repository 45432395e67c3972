"""Functions with resources of their own: the same result as without a pool, by processes of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline
from pipeline.engine import LostServiceError, Place, Resources
from pipeline.evaluation.score_rows import OwnedScores, score_rows
from pipeline.evaluation.served import FunctionService, Request, ServedCalls, own_resources
from pipeline.evaluation.stages import task_stage
from pipeline.functions import FunctionCaller, TrustPolicy, load_function
from pipeline.records import columns
from pipeline.records.evaluation import ScorerRecord
from pipeline.store import Store
from scorers import EvaluationScorerResult

ROWS = pa.table({"question": [f"question {n}" for n in range(40)]})


def run(folder: Path, engine: str, **options: Any) -> pipeline.Scores:
    """Forty rows, a task and a scorer, both with these options."""

    @pipeline.function(**options)
    def answer(question: str) -> str:
        if question.endswith("7"):
            raise ValueError(f"no answer to {question}")
        return f"{question} {os.getpid()}"

    @pipeline.function(**options)
    def length(output: str) -> float | None:
        return None if output.startswith("question 1 ") else 1 / len(output)

    @pipeline.function
    def worker(output: str) -> EvaluationScorerResult:
        return EvaluationScorerResult(score=1.0, metadata={"pid": os.getpid()})

    dataset = pipeline.DatasetClient(store=folder).upload("rows", ROWS)
    evaluation = pipeline.Evaluation.create(
        "served", dataset=dataset, task=answer, scorers=[length, worker], store=folder
    )
    return pipeline.read_results(evaluation.run(engine=engine, part_rows=10).wait(), store=folder)


@pytest.mark.ray
def test_a_function_with_resources_of_its_own_runs_in_a_process_of_its_own_and_scores_alike(tmp_path: Path) -> None:
    served = run(tmp_path / "ray", "ray", num_cpus=0.5).table
    here = run(tmp_path / "inline", "inline", num_cpus=0.5).table
    members = {text.split()[-1] for text in served["output"].to_pylist() if text is not None}
    workers = {str(text) for text in served["worker_metadata"].to_pylist()}
    assert members
    assert not any(pid in text for pid in members for text in workers)
    assert str(os.getpid()) not in members
    for name in ("output_error", "length_error", columns.OWNER, columns.SCORER_OWNER, columns.ROW_ID):
        assert served[name].to_pylist() == here[name].to_pylist()
    assert served["length_value"].null_count == here["length_value"].null_count == 5


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> FunctionService:
    """The spec of a pool for a task that takes seven rows at a time."""
    store = Store(tmp_path_factory.mktemp("store"))

    @pipeline.function(num_cpus=2, batch=7)
    def half(x: list[int]) -> list[float]:
        return [None if value % 5 == 0 else value / 2 for value in x]  # type: ignore[misc]

    version = half.deploy(store).version_id
    material = load_function(store, version, trusted=TrustPolicy.of([store.url]))
    resources = own_resources(material)
    assert resources == Resources(num_cpus=2)
    return FunctionService(material, resources, None, pa.float64())


@given(n_rows=st.integers(0, 40), left_out=st.sets(st.integers(0, 39)), told_after=st.integers(0, 5))
def test_what_a_pool_makes_of_rows_is_what_the_function_makes_of_them(
    halves: FunctionService, n_rows: int, left_out: set[int], told_after: int
) -> None:
    rows = pa.table({"x": pa.array(range(n_rows), pa.int64())})
    wanted = [row for row in range(n_rows) if row not in left_out]
    member = halves.open(Place())
    here = task_stage(FunctionCaller(halves.material), pa.float64())
    plain = here.begin(rows, wanted)
    plain.run()
    asked: list[int] = []
    news: list[pa.Table] = []

    def serve(request: Request) -> pa.Table:
        asked.append(request.rows.num_rows)
        if len(asked) == told_after:
            news.append(there.table(calls.news()))
        return member.serve(request)

    there = halves.stage(serve, lambda n: None)
    calls = ServedCalls(serve, rows, wanted, 14, lambda n: None)
    calls.run()
    made = there.table(calls.outcomes())
    assert made.equals(here.table(plain.outcomes()))
    told = sum(table.num_rows for table in news)
    assert list(calls.untold) == list(range(told, len(wanted)))
    if news:
        assert news[0].equals(made.slice(0, told))


def test_a_scorer_whose_pool_is_lost_does_not_fail_its_rows_the_part_is_lost() -> None:
    def lost(rows: pa.Table) -> OwnedScores:
        raise LostServiceError("scorer tone was lost")

    record = ScorerRecord(id="scorer-1", name="tone", inputs=("output",), version="0" * 64)
    with pytest.raises(LostServiceError):
        score_rows(lost, record, pa.table({"output": ["a"]}), pa.array([False]))


@pytest.mark.ray
def test_a_row_that_ends_every_member_of_a_pool_is_blamed_alone(tmp_path: Path) -> None:
    @pipeline.function(num_cpus=0.5)
    def careless(question: str) -> float:
        if question == "question 13":
            os._exit(1)
        return 0.5

    dataset = pipeline.DatasetClient(store=tmp_path).upload("rows", ROWS)
    evaluation = pipeline.Evaluation.create(
        "careless", dataset=dataset, task=None, output_column="question", scorers=[careless], store=tmp_path
    )
    run = evaluation.run(engine="ray", part_rows=10).wait()
    scores = pipeline.read_results(run, store=tmp_path)
    [failed] = [row for row in scores.table.to_pylist() if row["careless_error"] is not None]
    assert failed["question"] == "question 13"
    assert dict(failed[columns.SCORER_OWNER]) == {"careless": "harness"}
    assert (scores.summary.scorers[0].n, scores.summary.scorers[0].mean) == (39, 0.5)
