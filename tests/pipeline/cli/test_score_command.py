"""`assay score`: answers in files, into a plain folder or into the store."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

BASE = ["score", "answers.parquet", "--output-column", "answer"]
EXACT = [*BASE, "--expected-column", "gold", "-s", "exact_match"]


def test_scores_go_into_a_plain_folder_that_any_tool_reads(assay, workplace: Path) -> None:
    said = assay(*EXACT, "--sql", 'size=length("output")', "--to", "out")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0].split()[:3] == ["scorer", "n", "coverage"]
    assert said.out.rstrip().endswith(f"assay results {workplace / 'out'}")
    (file,) = (workplace / "out" / "data").glob("*.parquet")
    table = pq.read_table(file)
    assert table["exact-match_value"].to_pylist() == [1.0, 0.0, 1.0, 0.0]
    assert table["size_value"].to_pylist() == [1.0, 4.0, 3.0, None]
    assert not (workplace / ".assay").exists()


def test_json_is_one_object_with_the_documented_members(assay, workplace: Path) -> None:
    said = assay(*EXACT, "--to", "out", "--json", "--quiet")
    assert list(said.json) == ["run", "status", "rows", "failed", "duration_s", "result", "files", "summary"]
    assert (said.json["run"], said.json["status"], said.json["rows"], said.json["failed"]) == (None, "succeeded", 4, 0)
    assert said.json["result"] == str(workplace / "out")
    assert said.json["files"] == [str(path) for path in (workplace / "out" / "data").iterdir()]
    assert said.json["summary"]["scorers"][0]["mean"] == 0.5
    assert said.err == ""


def test_the_same_command_again_reports_the_finished_result(assay) -> None:
    first, second = (assay(*EXACT, "--to", "out", "--json") for _ in range(2))
    assert second.code == 0
    assert second.json["files"] == first.json["files"]


def test_another_question_to_the_same_folder_is_refused(assay) -> None:
    assay(*EXACT, "--to", "out")
    said = assay(*EXACT, "-s", "json_valid", "--to", "out")
    assert (said.code, said.out) == (1, "")
    assert "another plan stands here" in said.err


def test_without_a_folder_it_is_a_run_of_the_store(assay, workplace: Path) -> None:
    said = assay(*EXACT, "--store", "my store", "--json")
    assert said.code == 0
    assert (workplace / "my store" / "runs" / said.json["run"] / "manifest.json").is_file()
    assert said.json["result"]["revision"]
    again = assay(*EXACT, "--store", "my store")
    assert "finished already; --new starts another" in again.err
    assert f"assay results {said.json['run']} --store 'my store'" in again.out
    other = assay(*EXACT, "--store", "my store", "--new", "--json")
    assert other.json["run"] != said.json["run"]


@pytest.mark.parametrize("name", ["rows.csv", "rows with a space.jsonl", "ünïcode.parquet"])
def test_every_form_of_file_and_name_is_read(assay, workplace: Path, name: str) -> None:
    rows = pa.table({"answer": ["a", "b"], "gold": ["a", "c"]})
    if name.endswith(".csv"):
        pyarrow.csv.write_csv(rows, workplace / name)
    elif name.endswith(".jsonl"):
        (workplace / name).write_text('{"answer":"a","gold":"a"}\n{"answer":"b","gold":"c"}\n')
    else:
        pq.write_table(rows, workplace / name)
    arguments = ["--output-column", "answer", "--expected-column", "gold", "-s", "exact_match", "--json"]
    said = assay("score", name, *arguments, "--to", "out")
    assert said.code == 0, said.err
    assert said.json["summary"]["scorers"][0]["mean"] == 0.5


def test_a_glob_stands_for_its_files_in_order(assay, workplace: Path) -> None:
    for number in (2, 1):
        pq.write_table(pa.table({"output": [str(number)]}), workplace / f"part-{number}.parquet")
    said = assay("score", "part-*.parquet", "-s", "json_valid", "--to", "out", "--json")
    assert said.json["rows"] == 2
    assert [line.split()[1] for line in assay("results", "out").out.splitlines()[1:]] == ["1", "2"]


def test_scorers_take_options_names_and_own_functions(assay, workplace: Path) -> None:
    (workplace / "my_scorers.py").write_text("def half(output: str | None) -> float:\n    return 0.5\n")
    said = assay(
        *BASE, "-s", 'contains:{"name":"any one","inputs":["output","gold"],"mode":"any"}', "-s", "my_scorers.py:half",
        "-s", 'my_scorers.py:half:{"name":"other"}', "--to", "out", "--json",
    )  # fmt: skip
    assert said.code == 0, said.err
    means = {scorer["name"]: scorer["mean"] for scorer in said.json["summary"]["scorers"]}
    assert means == {"any one": 0.5, "half": 0.5, "other": 0.5}


def test_partitions_become_folders(assay, workplace: Path) -> None:
    assay(*EXACT, "--partition-by", "family", "--to", "out")
    folders = {path.name for path in (workplace / "out" / "data").iterdir()}
    assert folders == {"family=sums", "family=words"}


def test_a_limit_scores_the_first_rows_only(assay) -> None:
    assert assay(*EXACT, "--limit", "1", "--to", "out", "--json").json["rows"] == 1


def test_a_dry_run_tells_parts_rows_and_calls_and_leaves_nothing(assay, workplace: Path) -> None:
    (workplace / "my_scorers.py").write_text("def half(output: str | None) -> float:\n    return 0.5\n")
    before = set(workplace.iterdir())
    said = assay(*EXACT, "-s", "my_scorers.py:half", "--dry-run", "--json")
    assert said.json == {"parts": 1, "rows": 4, "calls": {"half": 4}}
    assert {path for path in workplace.iterdir() if path.name != "__pycache__"} == before


def test_a_floor_that_is_not_met_is_exit_3(assay) -> None:
    said = assay(*EXACT, "--to", "out", "--fail-under", "exact-match=0.6")
    assert said.code == 3
    assert "exact-match has the mean 0.5000, below the floor of 0.6" in said.err
    assert assay(*EXACT, "--to", "out", "--fail-under", "exact-match=0.5").code == 0


def test_nothing_scored_is_exit_4(assay, workplace: Path) -> None:
    pq.write_table(pa.table({"output": pa.array([None, None], pa.string())}), workplace / "nulls.parquet")
    said = assay("score", "nulls.parquet", "--sql", "n=length(output)", "--to", "out")
    assert said.code == 4
    assert "no row was scored" in said.err
    floored = assay("score", "nulls.parquet", "--sql", "n=length(output)", "--to", "out", "--fail-under", "n=1")
    assert floored.code == 4


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["score", "gone.parquet", "-s", "json_valid"], "gone.parquet: no such file"),
        ([*BASE], "no scorer is given: add -s SCORER"),
        ([*BASE, "-s", "exact_mach"], "there is no built-in scorer 'exact_mach'; did you mean 'exact_match'"),
        ([*BASE, "-s", 'contains:{"moode":"any"}'], "has no option 'moode'; did you mean 'mode'?"),
        ([*BASE, "-s", "contains:{mode:any}"], "the options are not JSON"),
        ([*BASE, "-s", "contains:[1]"], "the options are list"),
        ([*BASE, "-s", 'contains:{"mode":"most"}'], "mode must be one of all, any, fraction, found 'most'"),
        ([*BASE, "-s", "regex_match"], "regex_match needs the option 'pattern'"),
        ([*BASE, "-s", 'regex_match:{"pattern":"("}'], "pattern"),
        ([*BASE, "-s", "exact_match"], "name the column with --expected-column"),
        ([*BASE, "-s", "my_scorers.py:f"], "my_scorers.py cannot be read"),
        (
            [*BASE, "-s", "my file.py"],
            "-s 'my file.py' names a file and no function: add :FUNCTION, as in -s 'my file.py:",
        ),
        (
            [*BASE, "-s", 'contains:{"xyz":1}'],
            "known: mode, case_insensitive, name, inputs; and the options of every fun",
        ),
        ([*EXACT, "--type", "gold"], "--type 'gold' is not COLUMN=TYPE"),
        ([*EXACT, "--type", "gold=string"], "--type is for CSV and JSON Lines; Parquet has types of its own"),
        ([*EXACT, "--part-rows", "0"], "Invalid value for '--part-rows': Input should be greater than or equal to 1"),
        ([*BASE, "-s", 'my_scorers.py:f:{"nome":"x"}'], "an own scorer takes the option name only, found 'nome'"),
        ([*BASE, "--sql", "length(output)"], "is not NAME=EXPRESSION"),
        ([*BASE, "--sql", "n=lenght(output)"], "function lenght is not allowed"),
        ([*BASE, "--sql", "n=length(answr)"], "answr"),
        (["score", "answers.parquet", "--output-column", "anser", "-s", "json_valid"], "did you mean 'answer'?"),
        ([*EXACT, "--partition-by", "famly"], "famly"),
        ([*EXACT, "--fail-under", "exact-mach=1"], "did you mean 'exact-match'?"),
        ([*EXACT, "--fail-under", "exact-match"], "expected SCORER=X with a number"),
        ([*EXACT, "--fail-under", "exact-match=nan"], "expected SCORER=X with a number"),
        ([*EXACT, "--to", "out", "--store", "other"], "--to writes a plain folder that belongs to no store"),
    ],
)
def test_bad_input_is_exit_1_and_one_line_that_says_what_to_do(assay, arguments: list[str], message: str) -> None:
    said = assay(*arguments)
    assert (said.code, said.out) == (1, "")
    assert message in said.err
    assert "Traceback" not in said.err


def test_two_scorers_of_one_name_are_refused_with_the_way_to_name_them(assay) -> None:
    said = assay(*EXACT, "-s", 'exact_match:{"strip":false}', "--to", "out")
    assert said.code == 1
    assert "two scorers are called 'exact-match'" in said.err
    assert """as in -s 'exact_match:{"name":"exact-match-2"}'""" in said.err
    assert (
        assay(*EXACT, "-s", 'exact_match:{"name":"Exact Match"}', "--to", "out").code == 1
    )  # one folder for two names


def test_an_empty_table_is_refused(assay, workplace: Path) -> None:
    (workplace / "empty.csv").write_text("output\n")
    said = assay("score", "empty.csv", "-s", "json_valid", "--to", "out")
    assert (said.code, said.out) == (4, "")
    assert "empty.csv) has no rows: nothing can be scored" in said.err


def test_columns_of_csv_are_typed_and_cut_as_in_an_upload(assay, workplace: Path) -> None:
    (workplace / "rows.csv").write_text("output;zip\na;007\nb;008\n")
    said = assay(
        "score", "rows.csv", "-s", "json_valid", "--delimiter", ";", "--type", "zip=string", "--to", "out"
    )  # fmt: skip
    assert said.code == 0, said.err
    assert [row["zip"] for row in rows_of(assay, "out")] == ["007", "008"]


def rows_of(assay, result: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in assay("results", result, "--format", "jsonl").out.splitlines()]


@pytest.mark.parametrize(
    "given, message",
    [
        (["--type", "zip=strng"], "--type of 'zip' is 'strng', which names no type; did you mean 'string'?"),
        (["--type", "zap=string"], "--type names 'zap', which is no column of it; did you mean 'zip'?"),
        (["--type", "zip=int"], "correct the cell or give the column another type with --type"),
    ],
)
@pytest.mark.parametrize("command", [["score", "-s", "json_valid", "--to", "out"], ["dataset", "upload", "qa"]])
def test_errors_about_types_name_the_option(
    assay, workplace: Path, command: list[str], given: list[str], message: str
) -> None:
    (workplace / "rows.csv").write_text("output,zip\na,007\nb,x\n")
    said = assay(*command, "rows.csv", *given)
    assert (said.code, said.out) == (1, "")
    assert message in said.err
    assert "column_types" not in said.err


def test_values_of_mixed_types_are_answered_with_the_option(assay, workplace: Path) -> None:
    (workplace / "rows.jsonl").write_text('{"output": "a", "n": 1}\n{"output": "b", "n": "x"}\n')
    said = assay("score", "rows.jsonl", "-s", "json_valid", "--to", "out")
    assert "keep the column as text with --type 'n=string'" in said.err
    assert assay("score", "rows.jsonl", "-s", "json_valid", "--to", "out", "--type", "n=string").code == 0


def test_parts_are_as_small_as_one_asks(assay) -> None:
    assert assay(*EXACT, "--part-rows", "3", "--dry-run", "--json").json["parts"] == 2
    assert len(assay(*EXACT, "--part-rows", "3", "--to", "out", "--json").json["files"]) == 2
    assert len(assay(*EXACT, "--part-rows", "3", "--json").json["files"]) == 2


# As `shown_rate` writes it: whole numbers from ten on, two digits below, which a busy machine may need.
RATE = r"(?:[1-9][0-9]{1,2}(?:,[0-9]{3})*|[1-9](?:,[0-9]{3})+|[1-9](?:\.[0-9])?|0\.0*[1-9][0-9]?) rows/s"


def test_a_finished_result_tells_no_rate_and_a_resumed_one_that_of_its_own_rows(assay, workplace: Path) -> None:
    (workplace / "my_scorers.py").write_text(
        "def picky(id: int) -> float:\n    if id == 3:\n        raise ValueError('three')\n    return 1.0\n"
    )
    picky = [*BASE, "-s", "my_scorers.py:picky", "--part-rows", "1", "--engine", "inline", "--to", "out"]
    assert assay(*picky, "--max-failures", "0").code == 2
    assert re.search(rf"rows +4, 1 of them now, in \S+ s, {RATE}\n", assay(*picky).out)
    assert re.search(r"rows +4\n", assay(*picky).out)
    assert re.search(rf"rows +4 in \S+ s, {RATE}\n", assay(*EXACT, "--to", "other").out)


@pytest.mark.parametrize("place", ["out", "./out", "."])
def test_a_folder_is_shown_and_read_like_a_run(
    assay, workplace: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    assay(*EXACT, "--to", "out")
    if place == ".":
        monkeypatch.chdir(workplace / "out")
    said = assay("show", place)
    assert said.code == 0, said.err
    assert "status   succeeded" in said.out
    assert "exact-match  4    1.0000  0.5000" in said.out
    assert assay("show", place, "--json").json["summary"]["scorers"][0]["mean"] == 0.5
    assert len(rows_of(assay, place)) == 4


def test_a_folder_is_gone_on_with_by_its_own_command(assay, workplace: Path) -> None:
    assay(*EXACT, "--to", "out")
    for command in ("resume", "cancel"):
        said = assay(command, "out")
        assert (said.code, said.out) == (1, "")
        assert "the same `assay score` command goes on with it" in said.err
    (workplace / "out" / "outcome.json").unlink()
    assert "run the same `assay score` command again" in assay("show", "out").out
    assert assay("show", "out", "--json").json["status"] == "unfinished"


def test_a_column_called_output_that_is_not_scored_is_told_in_plain_words(assay, workplace: Path) -> None:
    pq.write_table(pa.table({"output": ["a"], "answer": ["b"]}), workplace / "both.parquet")
    said = assay("score", "both.parquet", "--output-column", "answer", "-s", "json_valid", "--to", "out")
    assert "to score it as it is, name it as the output column and give no task" in said.err


def test_memory_is_not_for_ray(assay) -> None:
    said = assay(*EXACT, "--engine", "ray", "--to", "memory://x")
    assert said.code == 2
    assert "use the inline engine, or a folder or bucket that they can reach" in said.err


def test_a_parquet_file_cut_short_is_named(assay, workplace: Path) -> None:
    whole = (workplace / "answers.parquet").read_bytes()
    (workplace / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    said = assay("score", "cut.parquet", "-s", "json_valid", "--to", "out")
    assert said.code == 1
    assert "cut.parquet" in said.err
