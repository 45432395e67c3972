"""Functions as scorers: what they may return, and who is to blame for a row without score."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import FunctionSignatureError
from pipeline.functions import FunctionCaller, FunctionScorer, function, require_scorer, require_task
from scorers.base import Scorer
from scorers.result import EvaluationScorerResult

ROWS = pa.table({"output": ['{"a": 1}', "no json", '{"a": 2}'], "expected": ['{"a": 1}', "{}", '{"a": 1}']})


@function
def per_field(output: str, expected: str) -> list[EvaluationScorerResult]:
    try:
        got, want = json.loads(output), json.loads(expected)
    except ValueError:
        return []
    return [
        EvaluationScorerResult(score=1.0 if got.get(field) == value else 0.0, metadata={"field": field})
        for field, value in want.items()
    ]


def scorer_of(func: Any, **options: Any) -> FunctionScorer:
    return FunctionScorer(FunctionCaller(function(**options)(func)))


def test_a_function_scorer_is_a_scorer() -> None:
    scorer = FunctionScorer(FunctionCaller(per_field))
    assert isinstance(scorer, Scorer)
    assert (scorer.name, scorer.inputs) == ("per_field", ("output", "expected"))
    assert len(scorer.version) == 64


def test_a_number_is_the_score() -> None:
    def half(output: str) -> float:
        return 0.5

    columns, owners = scorer_of(half).score_owned(ROWS)
    assert columns.value.to_pylist() == [0.5, 0.5, 0.5]
    assert owners.null_count == 3
    assert columns.values is None


@pytest.mark.parametrize("answer, value", [(True, 1.0), (2, 2.0), (None, None), (-0.5, -0.5)])
def test_plain_answers_are_kept_as_they_are(answer: Any, value: float | None) -> None:
    def plain(output: str) -> float | None:
        return answer

    columns = scorer_of(plain).score(ROWS)
    assert columns.value[0].as_py() == value
    assert columns.error.null_count == 3


def test_a_result_carries_metadata() -> None:
    def explained(output: str) -> EvaluationScorerResult:
        return EvaluationScorerResult(0.25, {"why": len(output)})

    columns = scorer_of(explained).score(ROWS)
    assert columns.value.to_pylist() == [0.25] * 3
    assert columns.metadata[0].as_py() == '{"why":8}'


def test_a_list_of_results_is_their_mean_and_an_empty_list_no_score() -> None:
    columns = FunctionScorer(FunctionCaller(per_field)).score(ROWS)
    assert columns.value.to_pylist() == [1.0, None, 0.0]
    assert columns.error.null_count == 3
    assert columns.values is not None
    assert columns.values.to_pylist()[1] == []


def test_one_rows_failure_stays_that_rows_and_is_the_judges() -> None:
    def strict(output: str) -> float:
        return float(json.loads(output)["a"]) / 2

    columns, owners = scorer_of(strict).score_owned(ROWS)
    assert columns.value.to_pylist() == [0.5, None, 1.0]
    assert columns.error[1].as_py().startswith("JSONDecodeError: ")
    assert owners.to_pylist() == [None, "judge", None]


def test_an_answer_that_is_no_score_is_the_judges_failure() -> None:
    def odd(output: str) -> float:
        return float("nan") if output == "no json" else "high"  # type: ignore[return-value]

    columns, owners = scorer_of(odd).score_owned(ROWS)
    assert columns.value.null_count == 3
    assert owners.to_pylist() == ["judge"] * 3


def test_a_null_is_the_datas_and_a_time_out_the_networks() -> None:
    async def slow(output: str) -> float:
        await asyncio.sleep(5)
        return 1.0

    scorer = scorer_of(slow, timeout_s=0.05)
    columns, owners = scorer.score_owned(pa.table({"output": ["a", None]}))
    scorer.close()
    assert owners.to_pylist() == ["network", "data"]
    assert "column 'output' is null" in columns.error[1].as_py()


def test_a_missing_column_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="needs a column 'expected'"):
        FunctionScorer(FunctionCaller(per_field)).score(ROWS.select(["output"]))


def test_what_cannot_be_a_score_is_refused_by_its_annotation() -> None:
    def text(output: str) -> str:
        return output

    def many(output: str) -> list[EvaluationScorerResult]:
        return []

    with pytest.raises(FunctionSignatureError, match="returns str, expected float"):
        require_scorer(function(text))
    require_scorer(function(many))
    with pytest.raises(FunctionSignatureError, match="cannot be a task"):
        require_task(function(many))
    assert require_task(function(text)) == pa.large_string()
