"""`assay runs`, `show`, `cancel`, `resume`, and how a run is named."""

from __future__ import annotations

import pytest

EXACT = "output_column: answer\nscorers:\n  - {use: exact_match, name: exact, inputs: [output, gold]}\n"


@pytest.fixture
def runs(assay, config) -> list[str]:
    """Two runs of one evaluation, newest first."""
    path = config(EXACT)
    return [assay("run", path, "--new", "--json").json["run"] for _ in range(2)][::-1]


def test_runs_are_listed_newest_first(assay, runs: list[str]) -> None:
    listed = assay("runs", "--json").json
    assert [entry["run"] for entry in listed] == runs
    assert listed[0]["summary"]["scorers"][0]["mean"] == 0.5
    assert [line.split()[0] for line in assay("runs").out.splitlines()[1:]] == runs
    assert [entry["run"] for entry in assay("runs", "-n", "1", "--json").json] == runs[:1]
    evaluation = listed[0]["evaluation"]["id"]
    assert len(assay("runs", "--evaluation", evaluation, "--json").json) == 2


def test_a_run_is_shown_with_its_summary(assay, runs: list[str]) -> None:
    said = assay("show", runs[1])
    assert said.code == 0
    assert f"run         {runs[1]}" in said.out
    assert "the column 'answer' is scored" in said.out
    assert "exact   4    1.0000  0.5000" in said.out
    shown = assay("show", runs[1], "--json").json
    assert (shown["run"], shown["status"], shown["output_column"]) == (runs[1], "succeeded", "answer")


def test_a_run_is_shown_with_its_tasks_name_and_short_digest(assay, config, workplace) -> None:
    (workplace / "my_task.py").write_text("def shout(id: int) -> str:\n    return f'{id}!'\n")
    assay("run", config("task: my_task.py:shout\nscorers:\n  - {use: json_valid}\n"))
    details = assay("show", "latest", "--json").json
    assert details["task"] == "shout"
    assert f"task        shout ({details['task_version'][:12]})\n" in assay("show", "latest").out


@pytest.mark.parametrize("part", [slice(None), slice(-6, None), slice(0, 24)])
def test_a_run_is_found_by_a_part_of_its_id(assay, runs: list[str], part: slice) -> None:
    assert assay("show", runs[0][part].lower(), "--json").json["run"] == runs[0]


def test_latest_is_the_newest_run(assay, runs: list[str]) -> None:
    assert assay("show", "latest", "--json").json["run"] == runs[0]


def test_a_part_of_two_ids_names_both(assay, runs: list[str]) -> None:
    said = assay("show", runs[0][:4])
    assert said.code == 1
    assert all(run in said.err for run in runs)


@pytest.mark.parametrize("command", ["show", "results", "cancel", "resume"])
@pytest.mark.parametrize("run", ["01ZZZZZZ", "a name", ""])
def test_an_unknown_run_is_exit_1(assay, runs: list[str], command: str, run: str) -> None:
    said = assay(command, run)
    assert (said.code, said.out) == (1, "")
    assert f"no run {run!r}" in said.err


@pytest.mark.parametrize(
    "command", [["show", "latest"], ["results", "latest"], ["cancel", "latest"], ["resume", "latest"]]
)
def test_a_store_without_runs_says_so(assay, command: list[str]) -> None:
    said = assay(*command)
    assert (said.code, said.out) == (1, "")
    assert "there are no runs in" in said.err


def test_an_unknown_evaluation_or_suite_is_exit_1(assay, runs: list[str]) -> None:
    assert assay("runs", "--evaluation", "nothing").code == 1
    assert assay("runs", "--suite", "nothing").code == 1


def test_a_run_that_has_ended_is_not_canceled(assay, runs: list[str]) -> None:
    said = assay("cancel", runs[0])
    assert said.code == 1
    assert "is succeeded already" in said.err


def test_resuming_a_finished_run_reports_it(assay, runs: list[str]) -> None:
    said = assay("resume", runs[0], "--json", "--fail-under", "exact=0.6")
    assert (said.code, said.json["run"]) == (3, runs[0])
    assert assay("resume", runs[0], "--fail-under", "exakt=0.6").code == 1
