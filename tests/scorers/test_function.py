"""Answers of own scorers, as columns."""

from __future__ import annotations

import decimal
from typing import Any

import pytest

from scorers import EvaluationScorerResult
from scorers._function import RowFailure, columns_of


def test_each_answer_becomes_its_row() -> None:
    found = columns_of([0.5, 1, True, None, RowFailure("no"), EvaluationScorerResult(0.25, {"b": 1, "a": "é"})])
    assert found.value.to_pylist() == [0.5, 1.0, 1.0, None, None, 0.25]
    assert found.error.to_pylist() == [None, None, None, None, "no", None]
    assert found.metadata.to_pylist() == [None, None, None, None, None, '{"a":"\\u00e9","b":1}']
    assert found.values is None


def test_a_number_outside_the_unit_interval_is_kept() -> None:
    assert columns_of([-3, 17.5, decimal.Decimal("2")]).value.to_pylist() == [-3.0, 17.5, 2.0]


def test_a_list_is_its_mean_and_its_scores() -> None:
    found = columns_of([[EvaluationScorerResult(1, {"k": 1}), 0.5], [], 0.75])
    assert found.value.to_pylist() == [0.75, None, 0.75]
    assert found.metadata.to_pylist() == [None, None, None]
    assert found.error.to_pylist() == [None, None, None]
    assert found.values is not None
    assert found.values.to_pylist() == [
        [{"score": 1.0, "metadata": '{"k":1}'}, {"score": 0.5, "metadata": None}],
        [],
        None,
    ]


def test_a_scorer_of_lists_has_the_column_though_no_row_has_one() -> None:
    found = columns_of([None, RowFailure("no")], is_list=True)
    assert found.values is not None
    assert found.values.to_pylist() == [None, None]


@pytest.mark.parametrize(
    "answer, message",
    [
        (float("nan"), "nan, which is no score"),
        (float("-inf"), "-inf, which is no score"),
        (10**400, "too big for a float"),
        ("0.5", "found str"),
        ({"score": 1}, "found dict"),
        ((0.5,), "found tuple"),
        ([0.5, None], "found NoneType"),
        ([[0.5]], "found list"),
        (1j, "found complex"),
    ],
)
def test_an_answer_that_is_no_score_is_the_error_of_its_row(answer: Any, message: str) -> None:
    found = columns_of([answer, 1.0])
    assert found.value.to_pylist() == [None, 1.0]
    assert message in found.error[0].as_py()
    assert found.error[1].as_py() is None


def test_no_rows_give_no_rows() -> None:
    assert len(columns_of([]).value) == 0
