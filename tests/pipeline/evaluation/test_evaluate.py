from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.errors import FailingRunError
from pipeline.evaluation.evaluate import refuse_broken_task
from scorers import EvaluationScorerResult


@pipeline.function
def shorten(text: str) -> str:
    if "!" in text:
        raise RuntimeError(f"cannot shorten {text}")
    return text[:3]


@pipeline.function
def is_short(output: str) -> float:
    if output == "bad":
        raise ValueError("bad output")
    return 1.0 if len(output) < 3 else 0.5


@pipeline.function
def letters(output: str) -> list[EvaluationScorerResult]:
    return [EvaluationScorerResult(1.0 if letter == "a" else 0.0, {"letter": letter}) for letter in output]


@pipeline.function
def unsure(output: str) -> float | None:
    return None if output.startswith("u") else 1.0


def rows(*texts: str | None) -> pa.Table:
    return pa.table({"text": pa.array(texts, pa.string())})


def test_a_row_whose_task_raises_is_kept_with_its_owner_and_is_not_scored():
    found = pipeline.score(rows("long text", "no!"), task=shorten, scorers=[is_short])
    (good, bad) = found.table.to_pylist()
    assert (good["output"], good["is_short_value"], good["__assay_owner"]) == ("lon", 0.5, None)
    assert (bad["output"], bad["is_short_value"], bad["is_short_error"]) == (None, None, None)
    assert bad["output_error"] == "RuntimeError: cannot shorten no!"
    assert bad["__assay_owner"] == "model"
    scorer = found["is_short"]
    assert (scorer.n, scorer.skipped, scorer.failed, scorer.coverage) == (1, 1, 0, 0.5)


def test_a_null_where_a_parameter_takes_none_is_the_datas_fault():
    found = pipeline.score(rows(None, "fine"), task=shorten, scorers=[is_short])
    assert found.table["__assay_owner"].to_pylist() == ["data", None]


def test_a_scorer_that_fails_on_a_row_leaves_the_others_alone():
    found = pipeline.score(rows("bad", "a", "zzz"), task=shorten, scorers=[is_short, unsure])
    assert found.table["is_short_value"].to_pylist() == [None, 1.0, 0.5]
    assert found.table["is_short_error"].to_pylist() == ["ValueError: bad output", None, None]
    assert found.table["__assay_scorer_owner"].to_pylist() == [[("is_short", "judge")], None, None]
    assert found["is_short"].failed_by_owner == {"judge": 1}
    assert found["unsure"].n == 3


def test_none_abstains_and_is_counted_apart_from_failures():
    found = pipeline.score(rows("up", "down"), task=shorten, scorers=[unsure])
    assert found.table["unsure_value"].to_pylist() == [None, 1.0]
    assert (found["unsure"].abstained, found["unsure"].failed, found["unsure"].mean) == (1, 0, 1.0)


def test_a_list_scorer_has_its_scores_and_their_mean():
    found = pipeline.score(rows("ab", "", "a"), task=shorten, scorers=[letters])
    assert found.table["letters_value"].to_pylist() == [0.5, None, 1.0]
    assert found.table["letters_values"].to_pylist()[0] == [
        {"score": 1.0, "metadata": '{"letter":"a"}'},
        {"score": 0.0, "metadata": '{"letter":"b"}'},
    ]
    assert found.table["letters_metadata"].null_count == 3
    assert found.table["letters_error"].null_count == 3


def test_a_sql_expression_that_fails_on_a_row_is_null_owned_and_counted():
    data = pa.table({"output": ["1", "x", None]})
    found = pipeline.score(data, scorers=[pipeline.scorers.sql("number", 'CAST("output" AS DOUBLE)')])
    assert found.table["number_value"].to_pylist() == [1.0, None, None]
    assert found.table["__assay_scorer_owner"].to_pylist() == [None, [("number", "judge")], None]
    assert (found["number"].n, found["number"].failed, found["number"].abstained) == (1, 1, 1)
    assert "number_error" not in found.table.column_names


def test_an_output_column_is_scored_as_it_is_and_shown_as_output():
    data = pa.table({"answer": ["a", "b"], "expected": ["a", "c"]})
    found = pipeline.score(data, output="answer", scorers=[pipeline.scorers.exact_match()])
    assert found.table["exact-match_value"].to_pylist() == [1.0, 0.0]
    assert found.table["output"].to_pylist() == ["a", "b"]


def test_values_outside_the_unit_interval_are_kept_and_take_the_bounds_away():
    data = pa.table({"output": ["1", "5"]})
    found = pipeline.score(data, scorers=[pipeline.scorers.sql("cost", 'CAST("output" AS DOUBLE)')])
    assert (found["cost"].mean, found["cost"].outside, found["cost"].lower) == (3.0, 1, None)


def test_a_task_whose_first_hundred_rows_all_fail_alike_ends_the_run():
    with pytest.raises(FailingRunError, match=r"first 100 rows all failed alike.*cannot shorten !"):
        pipeline.score(rows(*["!"] * 101), task=shorten, scorers=[is_short])


def test_a_hundred_failures_that_differ_end_nothing():
    found = pipeline.score(rows(*[f"{i}!" for i in range(150)]), task=shorten, scorers=[is_short])
    assert found.summary.output.failed == 150


def test_errors_are_alike_only_where_each_row_has_one():
    refuse_broken_task(pa.array(["same", None]))
    with pytest.raises(FailingRunError, match="same"):
        refuse_broken_task(pa.array(["same", "same"]))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text("abcu!d ", max_size=5), min_size=1, max_size=30), st.data())
def test_how_rows_are_cut_into_batches_never_changes_a_result(texts, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(texts)), max_size=4)) | {0, len(texts)})
    pieces = [rows(*texts[a:b]) for a, b in pairwise(cuts) if a < b]
    scorers = [is_short, letters, unsure]
    whole = pipeline.score(rows(*texts), task=shorten, scorers=scorers)
    cut = pipeline.score(pa.concat_tables(pieces).to_reader(), task=shorten, scorers=scorers)
    assert cut.table.to_pylist() == whole.table.to_pylist()
    for mine, theirs in zip(cut.summary.scorers, whole.summary.scorers, strict=True):
        assert (mine.n, mine.abstained, mine.skipped, mine.failed) == (
            theirs.n, theirs.abstained, theirs.skipped, theirs.failed,
        )  # fmt: skip
        assert mine.mean == pytest.approx(theirs.mean)


def test_a_secret_that_is_not_set_is_found_before_the_first_row(monkeypatch):
    monkeypatch.delenv("DESK_KEY", raising=False)

    @pipeline.function(secrets=[pipeline.Secret.from_env("DESK_KEY")])
    def ask(text: str) -> str:
        return text

    with pytest.raises(pipeline.FunctionError, match="DESK_KEY is not set on node"):
        pipeline.score(rows("a"), task=ask, scorers=[unsure])


def test_a_hundred_rows_are_enough_to_see_that_all_fail_alike():
    with pytest.raises(FailingRunError):
        pipeline.score(rows(*["!"] * 100), task=shorten, scorers=[is_short])


def test_a_panic_of_a_library_fails_its_rows_and_not_the_run():
    class Panic(BaseException):
        pass

    @pipeline.function(batch=True)
    def panics(output: list[str]) -> list[float]:
        raise Panic("in Rust")

    found = pipeline.score(pa.table({"output": ["a"]}), scorers=[panics])
    assert "in Rust" in found.table["panics_error"].to_pylist()[0]


def test_a_secret_of_a_built_in_is_looked_for_too(monkeypatch):
    monkeypatch.delenv("DESK_KEY", raising=False)
    scorer = pipeline.scorers.exact_match(secrets=[pipeline.Secret.from_env("DESK_KEY")])
    with pytest.raises(pipeline.FunctionError, match="DESK_KEY is not set on node"):
        pipeline.score({"output": ["a"], "expected": ["a"]}, scorers=[scorer])
