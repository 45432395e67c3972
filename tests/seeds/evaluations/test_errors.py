"""Seed document 003, "Errors": what is not there, and what is refused before anything is done."""

import math

import pytest

import pipeline


@pytest.fixture
def create(dataset, route_request):
    def create(name="library-desk", **changed):
        given = {"dataset": dataset, "task": route_request, "scorers": [pipeline.scorers.json_valid()], **changed}
        return pipeline.Evaluation.create(name, **given)

    return create


@pytest.mark.parametrize("find", [pipeline.Evaluation.from_id, pipeline.EvaluationRun.from_id])
def test_what_does_not_exist_is_a_404(find):
    with pytest.raises(pipeline.EvaluationNotFoundError) as missing:
        find("does-not-exist")

    assert missing.value.status_code == 404
    assert isinstance(missing.value, pipeline.EvaluationError)


@pytest.mark.parametrize("name", ["", "   "])
def test_an_empty_name_is_refused(create, name):
    with pytest.raises(ValueError, match="name"):
        create(name)


def test_an_empty_list_of_scorers_is_refused(create):
    with pytest.raises(ValueError, match="scorer"):
        create(scorers=[])


@pytest.mark.parametrize("metadata", [{"score": math.nan}, {"what": object()}, {1: "one"}, ["a"]])
def test_metadata_that_json_cannot_carry_is_refused(create, metadata):
    with pytest.raises((TypeError, ValueError), match="metadata"):
        create(metadata=metadata)


def test_a_refused_definition_leaves_nothing_behind(create):
    with pytest.raises(ValueError, match="scorer"):
        create(scorers=[])

    assert list(pipeline.EvaluationClient().list()) == []


def test_a_dataset_given_as_text_is_refused(create):
    with pytest.raises(TypeError):
        create(dataset="library-desk")
