"""Seed document 003, "Quick start": four rows, a task, a scorer, a suite, a run, a mean."""

import pyarrow.compute as pc

import pipeline


def test_the_quick_start_runs_as_written(dataset, route_request, capsys):
    suite = pipeline.EvaluationSuite.create("Release")
    evaluation = pipeline.Evaluation.create(
        "library-desk",
        dataset=dataset,
        task=route_request,
        scorers=[pipeline.scorers.json_valid(name="valid-json")],
        suite_id=suite.id,
    )

    run = evaluation.run(metadata={"git_sha": "0f1e2d3"}).wait()
    print(run.status)

    table = pipeline.DatasetClient().read(run.result_dataset)
    assert capsys.readouterr().out == "EvaluationRunStatus.SUCCEEDED\n"
    assert pc.mean(table["valid-json_value"]).as_py() == 0.75
    assert run.metadata == {"git_sha": "0f1e2d3"}


def test_the_four_scorers_give_the_four_means(dataset, route_request):
    evaluation = pipeline.Evaluation.create(
        "library-desk",
        dataset=dataset,
        task=route_request,
        scorers=[
            pipeline.scorers.json_valid(inputs=("output",), name="valid-json"),
            pipeline.scorers.json_match(inputs=("output", "expected"), name="full-match"),
            pipeline.scorers.json_match(inputs=("output", "expected"), paths=["desk"], name="desk-match"),
            pipeline.scorers.contains(inputs=("output", "expected_desk"), name="mentions-desk"),
        ],
    )

    table = pipeline.DatasetClient().read(evaluation.run().wait().result_dataset)

    by_row = {
        name: table[f"{name}_value"].to_pylist() for name in ("valid-json", "full-match", "desk-match", "mentions-desk")
    }
    assert by_row == {
        "valid-json": [1.0, 1.0, 1.0, 0.0],
        "full-match": [1.0, 0.0, 0.0, 0.0],
        "desk-match": [1.0, 1.0, 0.0, 0.0],
        "mentions-desk": [1.0, 1.0, 0.0, 0.0],
    }
    means = {name: pc.mean(table[f"{name}_value"]).as_py() for name in by_row}
    assert means == {"valid-json": 0.75, "full-match": 0.25, "desk-match": 0.5, "mentions-desk": 0.5}
