"""Seed document 003, "Creating an evaluation", "Running an evaluation" and "Reading results"."""

import time

import pyarrow.compute as pc
import pytest

import pipeline
from pipeline import EvaluationRunStatus


@pytest.fixture
def failed_run():
    """A run that ends FAILED: its first hundred rows and more fail alike."""

    @pipeline.function
    def closed_today(request: str) -> str:
        raise RuntimeError("the desk is closed today")

    dataset = pipeline.DatasetClient().upload("many", {"request": [f"May I borrow book {n}?" for n in range(200)]})
    evaluation = pipeline.Evaluation.create(
        "closed", dataset=dataset, task=closed_today, scorers=[pipeline.scorers.json_valid()]
    )
    return evaluation.run().wait(raise_on_failure=False)


def test_a_definition_shows_what_it_pinned(dataset, route_request):
    suite = pipeline.EvaluationSuite.create("Release")

    @pipeline.function
    def is_polite(output: str) -> float:
        return 1.0

    evaluation = pipeline.Evaluation.create(
        "library-desk",
        dataset=dataset,
        task=route_request,
        scorers=[pipeline.scorers.json_valid(), is_polite, pipeline.scorers.sql("answered", "1.0")],
        metadata={"owner": "front desk", "floor": 2},
        suite_id=suite.id,
    )

    assert (evaluation.dataset_id, evaluation.dataset_revision_id) == (dataset.dataset_id, dataset.revision_id)
    assert evaluation.task_function_version_id == route_request.version_id
    assert evaluation.metadata == {"owner": "front desk", "floor": 2}
    assert evaluation.suite_id == suite.id
    built_in, own, sql = evaluation.scorers
    assert built_in.builtin_id == "json_valid"
    assert own.function_version_id == is_polite.version_id
    assert (sql.sql_name, sql.sql_expression) == ("answered", "1.0")
    assert len({built_in.id, own.id, sql.id}) == 3


def test_a_definition_is_found_again_by_its_id(evaluation):
    assert pipeline.Evaluation.from_id(evaluation.id) == evaluation
    assert evaluation.refresh() == evaluation


def test_run_returns_at_once_and_wait_gives_the_end(evaluation):
    run = evaluation.run(metadata={"git_sha": "0f1e2d3"})
    assert run.status in (EvaluationRunStatus.PENDING, EvaluationRunStatus.RUNNING)
    assert not run.is_terminal

    final = run.wait()

    assert final.status is EvaluationRunStatus.SUCCEEDED
    assert final.is_terminal
    assert final.result_dataset is not None
    assert final.error_message is None
    assert run.result_dataset is None, "the old handle shows what it showed"


def test_the_statuses_are_those_of_the_document_and_three_of_them_are_terminal():
    assert {status.name for status in EvaluationRunStatus} == {
        "PENDING", "RUNNING", "FINALIZING", "SUCCEEDED", "FAILED", "CANCELED", "UNSPECIFIED",
    }  # fmt: skip
    assert str(EvaluationRunStatus.SUCCEEDED) == "EvaluationRunStatus.SUCCEEDED"
    assert {status.name for status in EvaluationRunStatus if status.is_terminal} == {"SUCCEEDED", "FAILED", "CANCELED"}


def test_waiting_longer_than_the_timeout_raises_and_stops_nothing(dataset):
    @pipeline.function
    def slow(request: str) -> str:
        time.sleep(0.3)
        return request

    evaluation = pipeline.Evaluation.create("slow", dataset=dataset, task=slow, scorers=[pipeline.scorers.json_valid()])
    run = evaluation.run()

    with pytest.raises(TimeoutError):
        run.wait(timeout=0.05, poll_interval=0.01)

    assert run.wait(timeout=None).status is EvaluationRunStatus.SUCCEEDED


def test_a_history_is_read_newest_first(evaluation):
    runs = [evaluation.run(metadata={"n": n}).wait() for n in range(3)]

    assert [run.id for run in evaluation.runs()] == [run.id for run in reversed(runs)]
    assert [run.metadata["n"] for run in evaluation.runs(limit=2)] == [2, 1]


def test_a_run_is_found_again_by_its_id(evaluation):
    run = evaluation.run().wait()

    again = pipeline.EvaluationRun.from_id(run.id)

    assert (again.status, again.result_dataset) == (run.status, run.result_dataset)
    assert again.refresh().status is EvaluationRunStatus.SUCCEEDED


def test_a_result_holds_the_dataset_the_output_and_each_score(evaluation, rows):
    table = pipeline.DatasetClient().read(evaluation.run().wait().result_dataset)

    assert table.select(list(rows[0])).to_pylist() == rows
    assert [name for name in table.column_names if not name.startswith("__assay")] == [
        "request", "expected", "expected_desk", "output", "output_error",
        "valid-json_value", "valid-json_error", "valid-json_metadata",
    ]  # fmt: skip
    assert table["output"].to_pylist()[3] == "no desk found"
    assert table["output_error"].to_pylist() == [None] * 4


def test_a_result_is_an_ordinary_table(evaluation):
    table = pipeline.DatasetClient().read(evaluation.run().wait().result_dataset)

    assert pc.mean(table["valid-json_value"]).as_py() == 0.75
    marked_down = table.filter(pc.equal(table["valid-json_value"], 0.0))
    assert marked_down["request"].to_pylist() == ["Is the roof garden open on Sundays?"]
    assert table.to_pandas()["valid-json_value"].sum() == 3.0


def test_a_task_that_raises_on_a_row_leaves_its_reason_there(dataset):
    @pipeline.function
    def only_loans(request: str) -> str:
        if "borrow" not in request:
            raise ValueError("this desk lends books")
        return "{}"

    evaluation = pipeline.Evaluation.create(
        "only-loans", dataset=dataset, task=only_loans, scorers=[pipeline.scorers.json_valid(name="valid-json")]
    )

    run = evaluation.run().wait()

    table = pipeline.DatasetClient().read(run.result_dataset)
    assert run.status is EvaluationRunStatus.SUCCEEDED
    assert [error is None for error in table["output_error"].to_pylist()] == [True, True, True, False]
    assert "this desk lends books" in table["output_error"].to_pylist()[3]
    assert table["valid-json_value"].to_pylist() == [1.0, 1.0, 1.0, None]


def test_a_run_that_fails_raises_out_of_wait_with_its_handle(failed_run):
    with pytest.raises(pipeline.EvaluationRunFailedError) as failed:
        failed_run.wait()

    assert failed.value.run.status is EvaluationRunStatus.FAILED
    assert "the desk is closed today" in failed.value.run.error_message


def test_a_run_that_failed_has_no_result_to_read(failed_run):
    assert failed_run.is_terminal
    assert failed_run.result_dataset is None
    with pytest.raises(pipeline.DatasetError):
        pipeline.read_results(failed_run)
