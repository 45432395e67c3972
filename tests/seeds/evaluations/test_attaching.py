"""Seed document 003, "Tasks" and "Attaching deployed functions by reference"."""

import pytest

import pipeline
from pipeline import RemoteFunction


@pytest.fixture
def create(dataset):
    def create(task, *scorers):
        return pipeline.Evaluation.create("attached", dataset=dataset, task=task, scorers=scorers)

    return create


@pytest.fixture
def says_loans():
    def says_loans(output: str) -> float:
        return float("loans" in output)

    return RemoteFunction(says_loans)


def test_deployed_functions_are_attached_by_name_and_by_version(create, route_request, says_loans):
    route_request.deploy()
    version = says_loans.deploy().version_id

    evaluation = create(RemoteFunction.from_name("route_request"), RemoteFunction.from_version_id(version))

    assert evaluation.task_function_version_id == route_request.version_id
    assert [scorer.function_version_id for scorer in evaluation.scorers] == [version]
    table = pipeline.DatasetClient().read(evaluation.run().wait().result_dataset)
    assert table["says_loans_value"].to_pylist() == [1.0, 1.0, 1.0, 0.0]


def test_from_id_is_another_name_for_from_version_id(says_loans):
    version = says_loans.deploy().version_id

    assert RemoteFunction.from_id(version).version_id == RemoteFunction.from_version_id(version).version_id == version


def test_a_name_gives_the_version_of_that_moment_which_the_evaluation_pins(create, says_loans):
    def echo(request: str) -> str:
        return request

    first = RemoteFunction(echo).deploy()
    evaluation = create(RemoteFunction.from_name("echo"), says_loans.deploy())

    def echo(request: str) -> str:
        return request.upper()

    second = RemoteFunction(echo).deploy()

    assert RemoteFunction.from_name("echo").version_id == second.version_id != first.version_id
    assert evaluation.refresh().task_function_version_id == first.version_id


def test_a_decorated_function_needs_no_deploy(create, route_request):
    assert route_request.version_id is None

    evaluation = create(route_request, pipeline.scorers.json_valid())

    assert evaluation.task_function_version_id == route_request.version_id is not None


def test_a_handle_that_was_never_deployed_is_refused(create, route_request, says_loans):
    with pytest.raises(pipeline.EvaluationError, match="deploy"):
        create(route_request, says_loans)


def test_a_bare_callable_is_refused_as_task_and_as_scorer(create, route_request):
    with pytest.raises(TypeError, match="bare callable"):
        create(lambda request: request, pipeline.scorers.json_valid())
    with pytest.raises(TypeError, match="bare callable"):
        create(route_request, lambda output: 1.0)


def test_a_parameter_without_a_column_is_found_when_the_evaluation_is_created(create):
    @pipeline.function
    def misspelt(requests: str) -> str:
        return requests

    with pytest.raises(pipeline.FunctionSignatureError, match=r"'requests'.*did you mean 'request'"):
        create(misspelt, pipeline.scorers.json_valid())
