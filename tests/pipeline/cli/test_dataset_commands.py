"""`assay dataset upload|list|show|read`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest


def test_an_upload_is_listed_shown_and_read(assay) -> None:
    said = assay("dataset", "upload", "qa", "answers.parquet")
    assert said.code == 0
    assert said.out.rstrip().endswith("assay dataset read qa --limit 5")
    assert "bytes" in said.err
    listed = assay("dataset", "list", "--json").json
    assert [(entry["dataset"], entry["rows"], entry["columns"]) for entry in listed] == [
        ("qa", 4, ["id", "family", "answer", "gold"])
    ]
    assert assay("dataset", "list").out.splitlines()[1].split()[0] == "qa"
    shown = assay("dataset", "show", "qa", "--json").json
    assert shown["types"]["id"] == "int64"
    assert len(shown["revisions"]) == 1
    assert assay("dataset", "read", "qa", "--limit", "1").out.split() == [
        "id",
        "family",
        "answer",
        "gold",
        *["1", "sums", "4", "4"],
    ]


def test_the_same_rows_again_are_the_same_revision(assay) -> None:
    first, second = (assay("dataset", "upload", "qa", "answers.parquet", "--json", "-q").json for _ in range(2))
    assert first["revision"] == second["revision"]


def test_types_and_delimiter_of_a_csv(assay, workplace: Path) -> None:
    (workplace / "zips.csv").write_text("zip;n\n007;1\n")
    said = assay("dataset", "upload", "zips", "zips.csv", "--delimiter", ";", "--type", "zip=string", "-q")
    assert said.code == 0, said.err
    assert said.err == ""
    assert assay("dataset", "read", "zips", "--format", "jsonl").out == '{"zip":"007","n":1}\n'


def test_pinned_files_stay_where_they_are(assay, workplace: Path) -> None:
    assay("dataset", "upload", "qa", "answers.parquet", "--pin")
    assert not (workplace / ".assay" / "datasets" / "qa" / "data").exists()
    assert assay("dataset", "read", "qa", "--format", "csv").out.count("\n") == 5


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_rows_are_written_whole_in_each_form(assay, workplace: Path, form: str) -> None:
    assay("dataset", "upload", "qa", "answers.parquet")
    assert assay("dataset", "read", "qa", "--format", form, "--output", f"out.{form}").code == 0
    data = (workplace / f"out.{form}").read_bytes()
    if form == "csv":
        assert pyarrow.csv.read_csv(io.BytesIO(data)).num_rows == 4
    elif form == "jsonl":
        assert [json.loads(line)["gold"] for line in data.splitlines()] == ["4", "5", "cat", "dog"]
    else:
        assert pq.read_table(io.BytesIO(data)).equals(pq.read_table("answers.parquet"))
    again = assay("dataset", "read", "qa", "--format", form, "--output", f"out.{form}")
    assert again.code == 1
    assert "is there already" in again.err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["upload", "My Data", "answers.parquet"], "for example 'my-data'"),
        (["upload", "qa", "gone.csv"], "gone.csv: no such file"),
        (["upload", "qa", "empty.csv"], "empty.csv"),
        (["upload", "qa", "answers.parquet", "--type", "zip"], "is not COLUMN=TYPE"),
        (["upload", "qa", "zips.csv", "--type", "zip=strng"], "strng"),
        (["upload", "qa", "zips.csv", "--type", "zap=string"], "zap"),
        (["upload", "qa", "zips.csv", "--delimiter", ";;"], "expected one ASCII character"),
        (["upload", "qa", "zips.csv", "--pin"], "Parquet"),
        (["show", "nothing"], "no dataset 'nothing'"),
        (["read", "nothing"], "no dataset 'nothing'"),
        (["read", "qa@"], "stands for no revision"),
        (["read", "answers", "--format", "table", "--output", "x"], ""),
    ],
)
def test_bad_input_is_exit_1(assay, workplace: Path, arguments: list[str], message: str) -> None:
    assay("dataset", "upload", "qa", "answers.parquet")
    (workplace / "empty.csv").write_text("")
    (workplace / "zips.csv").write_text("zip,n\n007,1\n")
    said = assay("dataset", *arguments)
    assert (said.code, said.out) == (1, "")
    assert message in said.err


def test_an_empty_store_says_so(assay) -> None:
    assert assay("dataset", "list").err.startswith("assay: there are no datasets in ")
    assert assay("dataset", "list", "--json").json == []
