"""A run that was begun by another scorer, task, Python or pyarrow: told what differs, and nothing of it is touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.functions import handle, payload, version

TASK = "def task(answer: str) -> str:\n    return answer\n"
CONFIG = "task: task.py:task\nscorers:\n  - {use: exact_match, inputs: [output, gold]}\n"
QUICK = ("--engine", "inline", "--quiet")


@pytest.fixture
def begun(assay, config, workplace: Path) -> Iterator[str]:
    """A run that stopped before its last part."""
    (workplace / "task.py").write_text(TASK)
    path = config(CONFIG)

    def begin() -> str:
        said = assay("run", path, *QUICK, "--part-rows", "1", "--max-failures", "0")
        assert said.code == 2, said.err
        (run,) = os.listdir(workplace / ".assay/runs")
        return run

    return begin


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_another_pyarrow_is_told_by_both_versions_and_leaves_the_run_alone(
    assay, begun, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(pa, "__version__", "25.0.0")
        run = begun()
    folder = workplace / ".assay/runs" / run
    before = contents(folder)
    said = assay("resume", run, *QUICK)
    assert said.code == 1
    assert "it was begun with another version of pyarrow, whose files differ: go on with that" in said.err
    assert f'pins.writer is "pyarrow 25.0.0" there and "pyarrow {pa.__version__}" now' in said.err
    assert contents(folder) == before
    assert assay("run", "run.yaml", *QUICK).code == 0
    assert contents(folder) == before
    assert len(os.listdir(folder.parent)) == 2


def test_another_python_is_told_by_both_versions_and_leaves_the_run_alone(
    assay, begun, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        for module in (handle, payload, version):
            earlier.setattr(module, "python_minor", lambda: "3.9")
        run = begun()
    folder = workplace / ".assay/runs" / run
    before = contents(folder)
    monkeypatch.setattr("pipeline.functions.registry.made_here", lambda version_id: None)  # as in a new process
    said = assay("resume", run, *QUICK)
    assert said.code == 1
    assert f"function 'task' was pickled by Python 3.9, this is {version.python_minor()}: deploy it again" in said.err
    assert contents(folder) == before
    assert assay("run", "run.yaml", *QUICK).code == 0
    assert contents(folder) == before
    assert len(os.listdir(folder.parent)) == 2


@pytest.mark.parametrize("edit", ["task", "scorer"])
def test_another_task_or_scorer_is_another_run_and_the_first_goes_on_as_it_was(
    assay, begun, config, workplace: Path, edit: str
) -> None:
    run = begun()
    before = contents(workplace / ".assay/runs" / run)
    if edit == "task":
        (workplace / "task.py").write_text(TASK.replace("return answer", "return answer.upper()"))
    else:
        config(CONFIG.replace("[output, gold]}", "[output, gold], case_insensitive: true}"))
    assert assay("run", "run.yaml", *QUICK).code == 0
    assert contents(workplace / ".assay/runs" / run) == before
    said = assay("resume", run, *QUICK, "--json")
    assert said.code == 0, said.err
    assert said.json["summary"]["scorers"][0]["mean"] == 2 / 3


def test_a_limit_of_a_run_that_wrote_no_plan_is_not_forgotten(assay, begun, workplace: Path) -> None:
    run = begun()
    for path in sorted((workplace / ".assay/runs" / run).rglob("*"), reverse=True):
        if path.is_file() and path.name != "run.json":
            path.unlink()
    said = assay("resume", run, *QUICK)
    assert said.code == 1
    assert f"runs/{run} was begun with other settings, and nothing of it was done: start it again" in said.err


def test_a_result_folder_of_another_pyarrow_or_scorer_is_refused_and_left_alone(
    assay, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = ("score", "answers.parquet", "--output-column", "answer", "--to", "out", *QUICK)
    exact = ("--scorer", 'exact_match:{"inputs": ["output", "gold"]}')
    with monkeypatch.context() as earlier:
        earlier.setattr(pa, "__version__", "25.0.0")
        assert assay(*score, *exact).code == 0
    before = contents(workplace / "out")
    said = assay(*score, *exact)
    assert (said.code, "another version of pyarrow" in said.err) == (1, True), said.err
    said = assay(*score, "--scorer", 'contains:{"inputs": ["output", "gold"]}')
    assert (said.code, "the scorers have changed, or are others" in said.err) == (1, True), said.err
    assert contents(workplace / "out") == before
