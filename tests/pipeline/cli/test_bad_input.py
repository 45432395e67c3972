"""Data that no one should have to score: a clear answer and the right status, before anything is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.evaluation import partition_scan, partitions

EXACT = ("--output-column", "answer", "--scorer", 'exact_match:{"inputs": ["output", "gold"], "name": "exact"}')
QUICK = (*EXACT, "--engine", "inline", "--quiet")


def write(name: str, **columns: object) -> str:
    pq.write_table(pa.table({"answer": ["a", "b"], "gold": ["a", "c"], **columns}), name)
    return name


def test_a_file_without_rows_is_exit_4(assay, workplace: Path) -> None:
    pq.write_table(pa.table({"answer": pa.array([], pa.string()), "gold": pa.array([], pa.string())}), "none.parquet")
    said = assay("score", "none.parquet", *QUICK, "--to", "out")
    assert said.code == 4
    assert "has no rows: nothing can be scored" in said.err
    assert not (workplace / "out").exists() or not os.listdir(workplace / "out")


@pytest.mark.parametrize("name", ["pipe.csv", "pipe.jsonl", "pipe.parquet"])
def test_a_pipe_is_refused_without_waiting_for_a_writer(assay, name: str) -> None:
    os.mkfifo(name)
    said = assay("score", name, *QUICK, "--to", "out")
    assert (said.code, "is a pipe or a device" in said.err) == (1, True), said.err


def test_a_device_is_refused_though_it_never_ends(assay) -> None:
    os.symlink("/dev/zero", "endless.csv")
    said = assay("score", "endless.csv", *QUICK, "--to", "out")
    assert (said.code, "is a pipe or a device" in said.err) == (1, True), said.err


@pytest.mark.parametrize("name", ["empty.csv", "empty.jsonl", "empty.parquet"])
def test_a_file_without_a_byte_is_named(assay, name: str) -> None:
    Path(name).touch()
    said = assay("score", name, *QUICK, "--to", "out")
    assert said.code in (1, 4)
    assert name in said.err
    assert "defect" not in said.err


@pytest.mark.parametrize("rows_before", [0, 2])
def test_a_csv_record_that_is_too_long_is_named_with_its_line_and_the_most(assay, rows_before: int) -> None:
    with open("long.csv", "w") as file:
        file.write("answer,gold\n" + '"a\nb",c\n' * rows_before)
        for _ in range(129):
            file.write("x" * (1 << 20))
        file.write(",c\n")
    said = assay("score", "long.csv", *QUICK, "--to", "out")
    assert said.code == 1
    assert f"long.csv, line {2 + 2 * rows_before}: a record of more than 128 MiB, the most that is read" in said.err
    assert "store such cells in Parquet" in said.err


@pytest.mark.parametrize(
    "line",
    [
        '{"answer": "a", "gold": "b", "answer": "c"}',
        '{"answer" :"a", "gold": "b", "answer": "c"}',
        '{"gold": "b: c", "more": {"answer": [{"answer": 1, "answer": 2}]}}',
        '{"answer":NaN,"answer":"a"}',
    ],
)
def test_a_key_that_stands_twice_in_a_line_is_named_with_its_line(assay, line: str) -> None:
    rows = ['{"answer": "at 10:30, \\"x\\": y", "gold": "b"}', "", line]
    Path("twice.jsonl").write_text("\n".join(rows) + "\n")
    said = assay("score", "twice.jsonl", *QUICK, "--to", "out")
    assert said.code == 1
    assert "twice.jsonl:3: the key 'answer' stands twice in one object; leave one of them" in said.err


def test_two_columns_of_one_name_are_named(assay) -> None:
    twice = pa.table([pa.array(["a"]), pa.array(["b"]), pa.array(["c"])], names=["answer", "gold", "gold"])
    pq.write_table(twice, "twice.parquet")
    said = assay("score", "twice.parquet", *QUICK, "--to", "out")
    assert (said.code, "columns 2 and 3 are both named 'gold'" in said.err) == (1, True), said.err


def test_text_that_is_not_utf8_is_named_with_its_column(assay) -> None:
    offsets = pa.array([0, 1, 3], pa.int32()).buffers()[1]
    write("bytes.parquet", note=pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff\xfe")]))
    said = assay("score", "bytes.parquet", *QUICK, "--to", "out")
    assert said.code == 1
    assert r"bytes.parquet: column 'note' is text, but holds a value that is not UTF-8: b'\xff\xfe'" in said.err


@pytest.mark.parametrize("kind", [pa.list_view(pa.int64()), pa.large_list_view(pa.int64())])
def test_views_of_lists_come_out_as_lists(assay, kind: pa.DataType) -> None:
    write("views.parquet", numbers=pa.array([[1, 2], None], kind))
    said = assay("score", "views.parquet", *QUICK, "--to", "out", "--json")
    assert said.code == 0, said.err
    assert pq.read_table(said.json["files"][0])["numbers"].to_pylist() == [[1, 2], None]


def test_views_inside_of_other_types_are_refused_by_name(assay) -> None:
    write("views.parquet", numbers=pa.array([[[1]], [[2]]], pa.list_(pa.list_view(pa.int64()))))
    said = assay("score", "views.parquet", *QUICK, "--to", "out")
    assert said.code == 1
    assert "column 'numbers' is list<" in said.err
    assert "cast it to lists" in said.err


def test_a_file_cut_short_after_it_was_pinned_is_named_by_the_run(assay, config, workplace: Path) -> None:
    assay("dataset", "upload", "d", "answers.parquet")
    stored = next((workplace / ".assay" / "datasets" / "d" / "data").iterdir())
    stored.write_bytes(stored.read_bytes()[:-100])
    path = config("output_column: answer\nscorers:\n  - {use: exact_match, inputs: [output, gold]}\n")
    path.write_text(path.read_text().replace("dataset: answers.parquet", "dataset: d"))
    said = assay("run", path, "--engine", "inline", "--quiet")
    assert said.code == 2
    assert stored.name in said.err
    assert "was damaged or replaced" in said.err


def test_a_stored_file_that_is_gone_is_named_by_the_run(assay, config, workplace: Path) -> None:
    assay("dataset", "upload", "d", "answers.parquet")
    stored = next((workplace / ".assay" / "datasets" / "d" / "data").iterdir())
    stored.unlink()
    path = config("output_column: answer\nscorers:\n  - {use: exact_match, inputs: [output, gold]}\n")
    path.write_text(path.read_text().replace("dataset: answers.parquet", "dataset: d"))
    said = assay("run", path, "--engine", "inline", "--quiet")
    assert said.code == 2
    assert stored.name in said.err
    assert "is gone" in said.err


def many_partitions() -> None:
    n = 1_100
    pq.write_table(pa.table({"answer": ["a"] * n, "gold": ["a"] * n, "n": list(range(n))}), "many.parquet")


def test_too_many_partitions_are_refused_before_anything_is_written_each_time(assay, workplace: Path) -> None:
    many_partitions()
    for _ in range(2):
        said = assay("score", "many.parquet", *QUICK, "--to", "out", "--partition-by", "n")
        assert said.code == 1
        assert "partition_by n makes more than 1024 partitions (1100 in the first 1100 rows alone): choose" in said.err
        assert not (workplace / "out").exists() or not os.listdir(workplace / "out")
    assert assay("score", "many.parquet", *QUICK, "--to", "few", "--partition-by", "n", "--limit", "9").code == 0


def test_too_many_partitions_are_refused_before_a_task_is_called(assay, config, workplace: Path) -> None:
    many_partitions()
    (workplace / "task.py").write_text("def task(answer: str) -> str:\n    open('called', 'w')\n    return answer\n")
    path = config("task: task.py:task\npartition_by: [n]\nscorers:\n  - {use: exact_match, inputs: [output, gold]}\n")
    path.write_text(path.read_text().replace("answers.parquet", "many.parquet"))
    said = assay("run", path, "--engine", "inline", "--quiet")
    assert (said.code, "more than 1024 partitions" in said.err) == (1, True), said.err
    assert not (workplace / "called").exists()


def test_a_broken_task_ends_the_run_after_100_rows_also_where_rows_are_wide(assay, config, workplace: Path) -> None:
    n = 150
    pq.write_table(pa.table({"answer": ["a" * 400_000] * n, "gold": ["a"] * n}), "wide.parquet")  # steps of 83 rows
    calls = "    with open('calls', 'a') as calls:\n        calls.write('.')\n"
    (workplace / "task.py").write_text(f"def task(answer: str) -> str:\n{calls}    raise KeyError('key')\n")
    path = config("task: task.py:task\nscorers:\n  - {use: exact_match, inputs: [output, gold]}\n")
    path.write_text(path.read_text().replace("answers.parquet", "wide.parquet"))
    for _ in range(2):
        said = assay("run", path, "--engine", "inline", "--quiet")
        assert (said.code, "the first 100 rows all failed alike" in said.err) == (2, True), said.err
        assert (workplace / "calls").stat().st_size == n
        (workplace / "calls").unlink()


def test_too_many_partitions_behind_the_rows_that_are_looked_at_end_the_run_each_time(
    assay, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_partitions()
    monkeypatch.setattr(partition_scan, "SCAN_ROWS", 10)
    monkeypatch.setattr(partitions, "MAX_PARTITIONS", 20)
    for _ in range(2):
        said = assay("score", "many.parquet", *QUICK, "--to", "out", "--partition-by", "n", "--part-rows", "9")
        assert said.code == 1
        assert "partition_by n makes more than 20 partitions: choose columns with fewer distinct values" in said.err
        assert not (workplace / "out/manifest.json").exists()
    said = assay("results", "out")
    assert said.code != 0
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    "limit, message",
    [
        ("100Mi", "memory_limit is 100Mi, and one worker of this evaluation needs at least 306Mi: give that much"),
        ("much", "--memory-limit must be bytes or text such as '512Mi' or '2G', found 'much'"),
    ],
)
def test_a_memory_limit_that_cannot_hold_one_worker_is_exit_1_and_names_the_least(assay, limit, message) -> None:
    for more in ([], ["--dry-run"]):
        said = assay("score", "answers.parquet", *QUICK, "--to", "out", "--memory-limit", limit, *more)
        assert said.code == 1
        assert message in said.err


def test_more_workers_than_a_memory_limit_holds_are_told_how_many_it_holds(assay, workplace: Path) -> None:
    said = assay("score", "answers.parquet", *QUICK, "--to", "out", "--memory-limit", "1GiB", "--workers", "5")
    assert said.code == 1
    assert "5 workers of this evaluation need at least 1530Mi: give that much, or ask for at most 3" in said.err


def test_a_memory_limit_changes_no_byte_of_the_result(assay, workplace: Path) -> None:
    n = 3_000
    texts = [f"{i:08}" * 1_000 for i in range(n)]
    pq.write_table(pa.table({"answer": texts, "gold": texts, "k": [i % 3 for i in range(n)]}), "large.parquet")
    for folder, limit in (("whole", ()), ("steps", ("--memory-limit", "310Mi"))):
        said = assay("score", "large.parquet", *QUICK, "--to", folder, "--partition-by", "k", *limit)
        assert said.code == 0, said.err
    assert (workplace / "whole/manifest.json").read_bytes() == (workplace / "steps/manifest.json").read_bytes()
