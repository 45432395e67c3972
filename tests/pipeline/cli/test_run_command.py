"""`assay run`: an evaluation that is written in a file."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

EXACT = "output_column: answer\nscorers:\n  - {use: exact_match, name: exact, inputs: [output, gold]}\n"


def test_a_config_is_run_into_the_store_and_the_summary_ends_with_the_next_command(assay, config) -> None:
    said = assay("run", config(EXACT))
    assert said.code == 0, said.err
    assert "exact   4    1.0000  0.5000" in said.out
    run = assay("runs", "--json").json[0]["run"]
    assert said.out.rstrip().endswith(f"assay results {run}")


def test_task_own_scorer_sql_and_partitions_of_a_config(assay, config, workplace: Path) -> None:
    (workplace / "my_words.py").write_text("LOUD = '!'\n")
    (workplace / "my_task.py").write_text(
        "import my_words\n\ndef shout(answer: str) -> str:\n"
        "    if answer == 'cat':\n        raise ValueError('no cats')\n"
        "    return answer + my_words.LOUD\n"
    )
    (workplace / "my_scorers.py").write_text(
        "def loud(output: str) -> float:\n    return float(output.endswith('!'))\n"
    )
    path = config(
        "task: my_task.py:shout\npartition_by: [family]\nscorers:\n  - {function: my_scorers.py:loud, name: is-loud}\n"
        '  - {sql: length("output"), name: size}\n'
    )
    said = assay("run", path, "--json")
    assert said.code == 0, said.err
    assert said.json["summary"]["output"] == {"ok": 2, "failed": 2, "failed_by_owner": {"data": 1, "model": 1}}
    assert [(scorer["name"], scorer["mean"]) for scorer in said.json["summary"]["scorers"]] == [
        ("is-loud", 1.0),
        ("size", 3.5),
    ]
    assert said.json["failed"] == 2
    assert all("/family=" in file for file in said.json["files"])


def test_paths_are_relative_to_the_config(assay, workplace: Path, monkeypatch: pytest.MonkeyPatch, config) -> None:
    path = config(EXACT)
    (workplace / "elsewhere").mkdir()
    monkeypatch.chdir(workplace / "elsewhere")
    assert assay("run", Path("..") / path.name, "--store", "s", "--json").json["rows"] == 4


def test_options_win_over_the_config(assay, config) -> None:
    path = config(EXACT + "limit: 3\n")
    assert assay("run", path, "--json").json["rows"] == 3
    said = assay("run", path, "--limit", "1", "--partition-by", "family", "--json")
    assert said.json["rows"] == 1
    assert "/family=sums/" in said.json["files"][0]


def test_the_same_config_again_reports_the_finished_run(assay, config) -> None:
    path = config(EXACT)
    first, second = assay("run", path, "--json"), assay("run", path, "--json")
    assert (second.code, second.json["run"]) == (0, first.json["run"])
    assert "finished already" in second.err
    assert assay("run", path, "--new", "--json").json["run"] != first.json["run"]


def test_a_registered_dataset_is_run_by_name_and_by_revision(assay, config, workplace: Path) -> None:
    revision = assay("dataset", "upload", "qa", "answers.parquet", "--json").json["revision"]
    pq.write_table(pq.read_table("answers.parquet").slice(0, 2), workplace / "fewer.parquet")
    assay("dataset", "upload", "qa", "fewer.parquet")
    path = config(EXACT)
    for dataset, rows in (("qa", 2), (f"qa@{revision[:8]}", 4)):
        path.write_text(path.read_text().replace("dataset: answers.parquet", f"dataset: {dataset}", 1))
        assert assay("run", path, "--json").json["rows"] == rows
        assert assay("run", path, "--dry-run", "--json").json["rows"] == rows
        path = config(EXACT)


def test_a_csv_dataset_keeps_what_json_lines_and_parquet_would(assay, config, workplace: Path) -> None:
    (workplace / "rows.csv").write_text("answer,gold\n4,4\n5,6\n")
    path = config(EXACT)
    path.write_text(path.read_text().replace("answers.parquet", "rows.csv"))
    assert assay("run", path, "--json").json["summary"]["scorers"][0]["mean"] == 0.5


def test_parts_are_as_small_as_one_asks(assay, config) -> None:
    path = config(EXACT)
    assert assay("run", path, "--part-rows", "1", "--dry-run", "--json").json["parts"] == 4
    assert len(assay("run", path, "--part-rows", "1", "--json").json["files"]) == 4


def test_a_csv_dataset_of_mixed_types_is_answered_with_the_upload(assay, config, workplace: Path) -> None:
    (workplace / "rows.jsonl").write_text('{"answer": 1, "gold": ""}\n{"answer": "x", "gold": ""}\n')
    path = config(EXACT)
    path.write_text(path.read_text().replace("answers.parquet", "rows.jsonl"))
    assert "with --type 'answer=string' (with `assay dataset upload`; then name that" in assay("run", path).err


def test_a_dry_run_leaves_no_store_behind(assay, config, workplace: Path) -> None:
    said = assay("run", config(EXACT), "--dry-run")
    assert said.code == 0
    assert said.out.splitlines() == ["parts  1", "rows   4", "calls  none of Python functions"]
    assert not (workplace / ".assay").exists()


def test_a_floor_that_is_not_met_is_exit_3(assay, config) -> None:
    assert assay("run", config(EXACT), "--fail-under", "exact=0.51").code == 3


def test_a_task_that_fails_on_every_row_is_a_failed_run(assay, config, workplace: Path) -> None:
    (workplace / "my_task.py").write_text("def f(family: str) -> str:\n    raise RuntimeError('always')\n")
    said = assay("run", config("task: my_task.py:f\nscorers:\n  - {use: json_valid}\n"), "--json")
    assert said.code == 4  # four rows are too few to say that all fail alike: they are counted, and none is scored
    assert said.json["summary"]["output"]["failed_by_owner"] == {"model": 4}


def test_too_many_failures_stop_a_run(assay, config, workplace: Path) -> None:
    (workplace / "my_task.py").write_text("def f(family: str) -> str:\n    raise RuntimeError('always')\n")
    path = config("task: my_task.py:f\nscorers:\n  - {use: json_valid}\n")
    said = assay("run", path, "--max-failures", "1", "--json")
    assert said.code == 2
    assert said.json["status"] == "failed"
    assert "max_failures=1" in said.err
    assert "go on with: assay resume" in said.err


@pytest.mark.parametrize(
    "text, message",
    [
        (EXACT + "limt: 3\n", "run.yaml:8: unknown field 'limt'; did you mean 'limit'?"),
        ("datset: x\n" + EXACT, "run.yaml:5: unknown field 'datset'; did you mean 'dataset'?"),
        ("output_column: answer\nscorers:\n  - tasks.py:half\n", "write it as {function: tasks.py:half}"),
        (EXACT + "  - {use: exact_mach}\n", "run.yaml:8: there is no built-in scorer 'exact_mach'; did you mean"),
        (
            EXACT + "  - {use: contains, moode: any}\n",
            "run.yaml:8: contains() has no option 'moode'; did you mean 'mode'?",
        ),
        (EXACT + "  - {use: exact_match, name: exact}\n", "as in {use: exact_match, name: exact-2}"),
        (EXACT + "  - {use: regex_match}\n", "run.yaml:8: regex_match needs the option 'pattern'"),
        (EXACT + "  - {function: nothing.py:f}\n", "nothing.py cannot be read"),
        (EXACT + "  - {function: nothing}\n", "run.yaml:8: 'nothing' names no function: write it as my_task.py:triage"),
        (EXACT + "  - {sql: 'sum(1)', name: s}\n", "sum"),
        (EXACT + "partition_by: famly\n", "famly"),
        (EXACT.replace("answer", "anser"), "did you mean 'answer'?"),
        ("task: my_task.py:f\nscorers:\n  - {use: json_valid}\n", "my_task.py cannot be read"),
        (
            "task: broken.py:f\nscorers:\n  - {use: json_valid}\n",
            "broken.py, line 2: ZeroDivisionError: division by zero",
        ),
        ("task: typo.py:f\nscorers:\n  - {use: json_valid}\n", "typo.py, line 1"),
        ("task: good.py:g\nscorers:\n  - {use: json_valid}\n", "good.py has no function 'g'"),
        (
            "task: good.py:f\nscorers:\n  - {use: json_valid}\n",
            "needs a column 'anser', which the dataset does not have",
        ),
    ],
)
def test_a_mistake_in_a_config_is_exit_1_with_its_place(
    assay, config, workplace: Path, text: str, message: str
) -> None:
    (workplace / "broken.py").write_text("def f(answer: str) -> str: ...\n1 / 0\n")
    (workplace / "typo.py").write_text("def f(answer: str -> str: ...\n")
    (workplace / "good.py").write_text("def f(anser: str) -> str:\n    return anser\n")
    said = assay("run", config(text))
    assert (said.code, said.out) == (1, "")
    assert message in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    "dataset, message",
    [
        ("gone.parquet", "gone.parquet: no such file"),
        ("nothing", "no dataset 'nothing'"),
        ("qa@0123", "stands for no revision of dataset 'qa'"),
        ("[qa, other]", "names 2 registered datasets"),
        ("run.yaml", "run.yaml"),
    ],
)
def test_a_dataset_that_is_not_there_is_exit_1(assay, config, dataset: str, message: str) -> None:
    assay("dataset", "upload", "qa", "answers.parquet")
    path = config(EXACT)
    path.write_text(path.read_text().replace("dataset: answers.parquet", f"dataset: {dataset}"))
    said = assay("run", path)
    assert (said.code, said.out) == (1, "")
    assert message in said.err


@pytest.mark.parametrize("path", ["gone.yaml", "."])
def test_a_config_that_is_not_there_is_exit_1(assay, path: str) -> None:
    assert assay("run", path).code == 1
