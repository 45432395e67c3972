"""`assay results`: rows of a result, filtered, in the form one needs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture(params=["folder", "run"])
def result(assay, config, workplace: Path, request: pytest.FixtureRequest) -> str:
    """A result in a plain folder, and the same as a run of the store."""
    (workplace / "my_scorers.py").write_text(
        "def picky(output: str | None, id: int) -> float:\n"
        "    if id == 2:\n        raise ValueError('two')\n    return id / 4\n"
    )
    arguments = [
        "--output-column",
        "answer",
        "--expected-column",
        "gold",
        "-s",
        "exact_match",
        "-s",
        "my_scorers.py:picky",
    ]
    place = ["--to", "out"] if request.param == "folder" else []
    said = assay("score", "answers.parquet", *arguments, *place, "--json")
    assert said.code == 0, said.err
    return "out" if request.param == "folder" else "latest"


def ids(said) -> list[int]:
    assert said.code == 0, said.err
    return [json.loads(line)["id"] for line in said.out.splitlines()]


def test_rows_come_in_the_order_of_the_dataset(assay, result: str) -> None:
    assert ids(assay("results", result, "--format", "jsonl")) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "filters, expected",
    [
        (["--failed"], [2]),
        (["--failed", "--scorer", "exact-match"], []),
        (["--failed", "--scorer", "picky"], [2]),
        (["--scorer", "picky", "--below", "0.8"], [1, 3]),
        (["--scorer", "exact-match", "--below", "0.5"], [2, 4]),
        (["--where", "\"answer\" = gold"], [1, 3]),
        (["--where", "answer IS NULL OR \"exact-match_value\" = 1 AND id > 1"], [3, 4]),
        (["--where", "id > 1", "--limit", "2"], [2, 3]),
        (["--where", "answer IS NULL", "--scorer", "exact-match", "--below", "1"], [4]),
    ],
)  # fmt: skip
def test_filters_hold_together(assay, result: str, filters: list[str], expected: list[int]) -> None:
    assert ids(assay("results", result, "--format", "jsonl", *filters)) == expected


def test_a_table_leaves_out_what_is_for_programs(assay, result: str) -> None:
    header = assay("results", result).out.splitlines()[0].split()
    assert header == [
        "row",
        "id",
        "family",
        "answer",
        "gold",
        "output",
        "output_error",
        "exact-match_value",
        "picky_value",
    ]
    header = assay("results", result, "--scorer", "picky").out.splitlines()[0].split()
    assert header[-3:] == ["picky_value", "picky_error", "picky_metadata"]
    assert "ValueError: two" in assay("results", result, "--failed").out


def test_the_files_are_those_of_the_index(assay, result: str, workplace: Path) -> None:
    files = assay("results", result, "--files").out.splitlines()
    assert sum(pq.read_metadata(file).num_rows for file in files) == 4
    assert all(Path(file).is_absolute() for file in files)
    assert assay("results", result, "--files", "--json").json == files


def test_json_is_the_summary_of_the_end_of_the_run(assay, result: str) -> None:
    found = assay("results", result, "--json").json
    assert (found["status"], found["rows"], found["failed"]) == ("succeeded", 4, 1)


def test_parquet_on_stdout_is_a_parquet_file(assay, result: str, workplace: Path) -> None:
    command = [sys.executable, "-m", "pipeline.cli", "results", result, "--format", "parquet"]
    data = subprocess.run(command, cwd=workplace, capture_output=True, check=True).stdout
    table = pq.read_table(pa.BufferReader(data))
    assert table.num_rows == 4
    assert "__assay_owner" in table.schema.names


def test_csv_has_nested_values_as_json(assay, result: str) -> None:
    lines = assay("results", result, "--format", "csv").out.splitlines()
    assert len(lines) == 5
    assert '{""picky"":""judge""}' in lines[2]


def test_where_tells_what_it_read_and_quiet_does_not(assay, workplace: Path) -> None:
    said = assay("score", "answers.parquet", "--output-column", "answer", "-s", "json_valid", "--partition-by",
                 "family", "--to", "out")  # fmt: skip
    assert said.code == 0, said.err
    said = assay("results", "out", "--format", "jsonl", "--where", "family = 'words'")
    assert (ids(said), said.err) == ([3, 4], "assay: read 1 of 2 files\n")
    said = assay("results", "out", "--where", "family = 'words'", "--column", "gold", "-c", "id", "--quiet")
    assert [line.split() for line in said.out.splitlines()] == [["gold", "id"], ["cat", "3"], ["dog", "4"]]
    assert said.err == ""


def test_where_counts_the_rows_on_which_it_fails(assay, result: str) -> None:
    said = assay("results", result, "--format", "jsonl", "--where", "CAST(gold AS INTEGER) > 4")
    assert ids(said) == [2]
    assert said.err.splitlines()[1:] == ["assay: --where failed on 2 rows, which are left out"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--where", "gold"], "--where: yields VARCHAR, a condition (BOOLEAN) is needed"),
        (["--column", "golf"], "no column 'golf'; did you mean 'gold'?"),
        (["--below", "1"], "--below needs --scorer"),
        (["--scorer", "piky"], "no scorer 'piky'; did you mean 'picky'?"),
        (["--where", "answer ="], "--where: "),
        (["--where", "anser = ''"], "anser"),
        (["--where", "read_text('/etc/passwd') = ''"], "function read_text is not allowed"),
        (["--where", "(SELECT count(*) FROM read_csv('answers.csv')) > 0"], "--where: "),
        (["--where", "1) THEN 1 END, (SELECT 1"], "--where: "),
        (["--where", "id > 1; DROP TABLE x"], "--where: a semicolon is not allowed"),
        (["--format", "table", "--output", "x.txt"], "--format table is for the screen"),
        (["--format", "csv", "--output", "no/such/folder.csv"], "cannot be written"),
        (["--format", "csv", "--output", "answers.parquet"], "is there already"),
    ],
)
def test_bad_input_is_exit_1(assay, result: str, arguments: list[str], message: str) -> None:
    said = assay("results", result, *arguments)
    assert (said.code, said.out) == (1, "")
    assert message in said.err


def test_a_reader_that_has_had_enough_is_no_error(assay, result: str, workplace: Path) -> None:
    command = f"{sys.executable} -m pipeline.cli results {result} --format jsonl | head -n 0"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=workplace, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_failed_rows_name_who_is_to_blame(assay, result: str) -> None:
    header, row = assay("results", result, "--failed").out.splitlines()
    assert header.split()[6:9] == ["output_error", "owner", "failed_scorers"]
    assert "  -      picky: judge  " in row


def test_a_task_that_failed_is_blamed_and_can_be_asked_for(assay, config, workplace: Path) -> None:
    (workplace / "my_task.py").write_text(
        "def f(id: int) -> str:\n    if id == 3:\n        raise ValueError('three')\n    return str(id)\n"
    )
    assert assay("run", config("task: my_task.py:f\nscorers:\n  - {use: json_valid}\n")).code == 0
    assert "ValueError: three  model  " in assay("results", "latest", "--failed").out
    assert ids(assay("results", "latest", "--format", "jsonl", "--where", "__assay_owner = 'model'")) == [3]
    said = assay("results", "latest", "--where", "__assay_ownr = 'model'")
    assert "did you mean '__assay_owner'" in said.err


def test_rows_that_are_hard_to_write_down_are_written_down(assay, workplace: Path) -> None:
    odd = {
        "output": ["a", "b"],
        "number": [math.nan, -math.inf],
        "nested": [{"x": [math.inf, 1.0]}, None],
        "raw": [b"\xff\x00", None],
        "day": [date(2024, 2, 29), None],
        "price": [Decimal("1.50"), None],
    }
    pq.write_table(pa.table(odd), workplace / "odd.parquet")
    assert assay("score", "odd.parquet", "-s", "json_valid", "--to", "odd").code == 0
    first, second = map(json.loads, assay("results", "odd", "--format", "jsonl").out.splitlines())
    assert (first["number"], second["number"], first["nested"]) == (None, None, {"x": [None, 1.0]})
    assert (first["raw"], first["day"], first["price"]) == ("/wA=", "2024-02-29", "1.50")
    assert assay("results", "odd").out.splitlines()[1].split()[2:7] == [
        "nan", '{"x":[null,1.0]}', "/wA=", "2024-02-29", "1.50",
    ]  # fmt: skip
    assert ',"{""x"":[null,1.0]}","/wA=",2024-02-29,1.50,' in assay("results", "odd", "--format", "csv").out


@pytest.mark.parametrize("folder", ["./nothing", "no such/folder"])
def test_a_folder_without_a_result_is_exit_1(assay, folder: str) -> None:
    said = assay("results", folder)
    assert (said.code, said.out) == (1, "")
    assert "no plan.json" in said.err
