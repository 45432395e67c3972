"""Seed document 003, "Scorers": built-in ones, SQL expressions, own ones, what they may return."""

import json
import math
from decimal import Decimal

import pytest

import pipeline
from pipeline import EvaluationScorerResult


@pytest.fixture
def scored(dataset, route_request):
    """The result rows of the example under some scorers."""

    def score(*scorers):
        evaluation = pipeline.Evaluation.create("scored", dataset=dataset, task=route_request, scorers=scorers)
        return pipeline.DatasetClient().read(evaluation.run().wait().result_dataset)

    return score


def test_a_built_in_scorer_notes_down_why(scored):
    table = scored(pipeline.scorers.json_match(name="full-match"))

    notes = [json.loads(text) for text in table["full-match_metadata"].to_pylist()]
    assert notes[:3] == [{"mismatched": []}, {"mismatched": ["books"]}, {"mismatched": ["desk"]}]
    assert set(notes[3]) == {"error"}


def test_a_built_in_scorer_names_itself_in_kebab_case(scored):
    assert "json-valid_value" in scored(pipeline.scorers.json_valid()).column_names


def test_a_built_in_scorer_takes_the_options_of_functions(scored):
    table = scored(pipeline.scorers.json_valid(name="valid-json", retries=2, num_cpus=1))

    assert table["valid-json_value"].to_pylist() == [1.0, 1.0, 1.0, 0.0]


def test_an_sql_expression_reads_the_columns_and_the_output(scored):
    table = scored(
        pipeline.scorers.sql(
            "is-json", """CASE WHEN "output" IS NOT NULL AND "output" LIKE '{%' THEN 1.0 ELSE 0.0 END"""
        ),
        pipeline.scorers.sql("short", """CASE WHEN length("request") < 40 THEN 1.0 ELSE 0.0 END"""),
    )

    assert table["is-json_value"].to_pylist() == [1.0, 1.0, 1.0, 0.0]
    assert table["short_value"].to_pylist() == [1.0, 0.0, 0.0, 1.0]
    assert not {"is-json_error", "is-json_metadata"} & set(table.column_names)


def test_an_own_scorer_reads_columns_and_the_output(scored):
    @pipeline.function
    def counts_what_is_written(request: str, output: str) -> float:
        try:
            books = json.loads(output)["books"]
        except ValueError:
            return 0.0
        words = {1: "one", 2: "two", 3: "three"}
        return 1.0 if str(books) in request or words.get(books, "-") in request else 0.0

    assert scored(counts_what_is_written)["counts_what_is_written_value"].to_pylist() == [1.0, 0.0, 1.0, 0.0]


def test_a_scorer_may_give_several_scores_or_none(scored):
    @pipeline.function
    def per_field(output: str, expected: str) -> list[EvaluationScorerResult]:
        try:
            found, wanted = json.loads(output), json.loads(expected)
        except ValueError:
            return []
        return [
            EvaluationScorerResult(score=float(found.get(field) == value), metadata={"field": field})
            for field, value in wanted.items()
        ]

    table = scored(per_field)

    assert table["per_field_value"].to_pylist() == [1.0, 0.5, 0.5, None]
    assert table["per_field_error"].to_pylist() == [None, None, None, None]
    third = table["per_field_values"].to_pylist()[2]
    assert [(json.loads(one["metadata"])["field"], one["score"]) for one in third] == [("desk", 0.0), ("books", 1.0)]


def test_a_single_result_carries_its_metadata(scored):
    @pipeline.function
    def length_of(output: str) -> EvaluationScorerResult:
        return EvaluationScorerResult(score=0.5, metadata={"characters": len(output)})

    table = scored(length_of)

    assert table["length_of_value"].to_pylist() == [0.5] * 4
    assert json.loads(table["length_of_metadata"].to_pylist()[3]) == {"characters": len("no desk found")}


def test_one_row_that_fails_stays_one_row(scored):
    @pipeline.function
    def strict(output: str) -> float:
        return float(json.loads(output)["books"] > 1)

    table = scored(strict, pipeline.scorers.json_valid(name="valid-json"))

    assert table["strict_value"].to_pylist() == [1.0, 0.0, 0.0, None]
    assert [error is None for error in table["strict_error"].to_pylist()] == [True, True, True, False]
    assert table["valid-json_value"].to_pylist() == [1.0, 1.0, 1.0, 0.0]


def test_a_plain_number_outside_the_range_is_kept(scored):
    @pipeline.function
    def characters(output: str) -> float:
        return float(len(output))

    assert scored(characters)["characters_value"].to_pylist()[3] == 13.0


@pytest.mark.parametrize("score", [0, 1, 0.25, Decimal("0.5")])
def test_a_score_is_a_number_from_0_to_1(score):
    assert EvaluationScorerResult(score=score).score == float(score)


@pytest.mark.parametrize(
    ("score", "error"),
    [
        (True, TypeError),
        (None, TypeError),
        (1.01, ValueError),
        (-0.01, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
    ],
)
def test_a_score_that_is_none_is_refused_at_once(score, error):
    with pytest.raises(error):
        EvaluationScorerResult(score=score)


@pytest.mark.parametrize("metadata", [{"a": math.nan}, {"a": object()}, {1: "a"}, "text"])
def test_metadata_that_json_cannot_carry_is_refused_at_once(metadata):
    with pytest.raises(TypeError):
        EvaluationScorerResult(score=1.0, metadata=metadata)
