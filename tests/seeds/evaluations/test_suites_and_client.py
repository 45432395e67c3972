"""Seed document 003, "Suites" and "Using EvaluationClient directly"."""

import pytest

import pipeline
from pipeline import EvaluationClient, EvaluationSuite


@pytest.fixture
def client():
    return EvaluationClient()


def create(client, dataset, task, name, suite=None):
    return client.create(
        name,
        dataset=dataset,
        task=task,
        scorers=[pipeline.scorers.json_valid(name="valid-json")],
        suite_id=suite.id if suite else None,
    )


def test_a_suite_lists_its_evaluations_and_runs_newest_first(client, dataset, route_request):
    suite = EvaluationSuite.create("Release")
    first, second = (create(client, dataset, route_request, name, suite) for name in ("morning", "evening"))
    create(client, dataset, route_request, "elsewhere")
    runs = [evaluation.run().wait() for evaluation in (second, first)]

    assert [(found.id, found.name) for found in EvaluationSuite.list_all() if found.name == "Release"] == [
        (suite.id, "Release")
    ]
    [suite] = [found for found in EvaluationSuite.list_all() if found.name == "Release"]
    assert [evaluation.name for evaluation in suite.evaluations(limit=20)] == ["evening", "morning"]
    assert [evaluation.name for evaluation in suite.evaluations(limit=1)] == ["evening"]
    assert [run.id for run in suite.runs(limit=20)] == [run.id for run in reversed(runs)]


def test_an_evaluation_without_a_suite_is_filed_under_default(client, dataset, route_request):
    evaluation = create(client, dataset, route_request, "nightly")

    [default] = [suite for suite in client.list_suites() if suite.id == evaluation.suite_id]
    assert default.name == "Default"


def test_one_client_does_it_all(client, dataset, route_request):
    suite = client.create_suite("Release")
    evaluation = create(client, dataset, route_request, "nightly", suite)
    run = client.run(evaluation.id, metadata={"git_sha": "0f1e2d3"})
    run.wait()

    assert [found.name for found in client.list(suite_id=suite.id, limit=50)] == ["nightly"]
    assert [(found.id, str(found.status)) for found in client.list_runs(evaluation_id=evaluation.id, limit=10)] == [
        (run.id, "EvaluationRunStatus.SUCCEEDED")
    ]
    assert client.get(evaluation.id) == evaluation
    assert client.get_run(run.id).metadata == {"git_sha": "0f1e2d3"}


def test_lists_stop_at_their_limit(client, dataset, route_request):
    for number in range(4):
        create(client, dataset, route_request, f"nightly-{number}")

    assert [found.name for found in client.list(limit=3)] == ["nightly-3", "nightly-2", "nightly-1"]
    assert list(client.list(limit=0)) == []


def test_a_handle_made_by_hand_has_no_client(dataset):
    evaluation = pipeline.Evaluation(
        id="01J00000000000000000000000", name="by hand", dataset=dataset, task_function_version_id=None, scorers=()
    )

    with pytest.raises(pipeline.EvaluationError, match="EvaluationClient"):
        evaluation.run()
