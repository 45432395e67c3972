"""A file of a dataset that changes while it is read: named, no wrong row, and the run goes on once it is restored."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 40
QUICK = ("--engine", "inline", "--quiet")
CONFIG = "task: task.py:task\nscorers:\n  - {use: exact_match, inputs: [output, gold]}\n"
TASK = """
import os, shutil
from pathlib import Path

def task(answer: str, n: int) -> str:
    if n == 15 and os.path.exists("change"):
        path, kind = Path("change").read_text().split()
        os.remove("change")
        if kind == "replaced":
            shutil.copy("other.parquet", path + ".new")
            os.replace(path + ".new", path)
        elif kind == "overwritten":
            Path(path).write_bytes(Path("other.parquet").read_bytes())
        elif kind == "truncated":
            os.truncate(path, 200)
        else:
            os.remove(path)
    return answer
"""


def write(path: str, word: str) -> None:
    columns = {"n": list(range(ROWS)), "answer": [f"{word} {i:02}" for i in range(ROWS)], "gold": ["good 01"] * ROWS}
    pq.write_table(pa.table(columns), path, compression="none")


@pytest.mark.parametrize("kind", ["replaced", "overwritten", "truncated", "deleted"])
@pytest.mark.parametrize("is_stored", [False, True], ids=["pinned", "stored"])
def test_a_file_that_changes_while_it_is_read_ends_the_run_which_goes_on_when_it_is_restored(
    assay, config, workplace: Path, kind: str, is_stored: bool
) -> None:
    write("answers.parquet", "good")
    path = config(CONFIG)
    (workplace / "task.py").write_text(TASK)
    file = workplace / "answers.parquet"
    if is_stored:
        assay("dataset", "upload", "d", "answers.parquet")
        path.write_text(path.read_text().replace("dataset: answers.parquet", "dataset: d"))
        (file,) = (workplace / ".assay/datasets/d/data").iterdir()
    original = file.read_bytes()
    other = original.replace(b"good", b"evil")  # of the same size; where pages have checksums, they are wrong
    (workplace / "other.parquet").write_bytes(other)
    (workplace / "change").write_text(f"{file} {kind}")

    said = assay("run", path, *QUICK, "--part-rows", "10")
    assert said.code == 2
    assert file.name in said.err
    changed = "was damaged or replaced" if is_stored else "has changed since it was pinned"
    assert ("is gone; restore the file" if kind == "deleted" else changed) in said.err
    (run,) = os.listdir(workplace / ".assay/runs")
    assert not (workplace / ".assay/runs" / run / "manifest.json").exists()

    file.write_bytes(original)
    said = assay("resume", run, *QUICK, "--json")
    assert said.code == 0, said.err
    found = pa.concat_tables([pq.read_table(result) for result in said.json["files"]])
    assert found["output"].to_pylist() == [f"good {i:02}" for i in range(ROWS)]


def test_a_stored_file_that_another_of_its_size_replaced_is_refused_at_once(assay, config, workplace: Path) -> None:
    write("answers.parquet", "good")
    assay("dataset", "upload", "d", "answers.parquet")
    (file,) = (workplace / ".assay/datasets/d/data").iterdir()
    original = file.read_bytes()
    path = config("output_column: answer\nscorers:\n  - {use: exact_match, inputs: [output, gold]}\n")
    path.write_text(path.read_text().replace("dataset: answers.parquet", "dataset: d"))
    file.write_bytes(original[:-1000] + original[-999:] + b"x")
    for _ in range(2):
        said = assay("run", path, *QUICK)
        assert (said.code, "was damaged or replaced after it was written" in said.err) == (2, True), said.err
        assert file.name in said.err
    file.write_bytes(original)
    assert assay("run", path, *QUICK).code == 0
