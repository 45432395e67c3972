"""What the command line says of engines: Ray, clusters that are not there, stores that workers cannot see."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

EXACT = ["score", "answers.parquet", "--output-column", "answer", "--expected-column", "gold", "-s", "exact_match"]


@pytest.fixture
def dead_address() -> str:
    """An address of this machine at which nothing answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def test_a_cluster_that_does_not_answer_is_a_fault_within_seconds(assay, dead_address: str) -> None:
    said = assay(*EXACT, "--to", "out", "--ray-address", dead_address)
    assert (said.code, said.out) == (2, "")
    assert "no Ray answers at" in said.err
    said = assay(*EXACT, "--ray-address", dead_address)
    assert said.code == 2
    assert "no Ray answers at" in said.err
    assert "go on with: assay resume" in said.err


def test_a_cluster_for_the_inline_engine_is_refused(assay, dead_address: str) -> None:
    said = assay(*EXACT, "--to", "out", "--engine", "inline", "--ray-address", dead_address)
    assert said.code == 2
    assert "leave out one of the two" in said.err


def test_a_function_of_a_store_that_is_not_trusted_is_not_loaded(assay, config, workplace: Path, program) -> None:
    (workplace / "my_task.py").write_text(
        "def f(answer: str | None) -> str:\n"
        "    if answer == 'five':\n        raise ValueError(answer)\n    return '1'\n"
    )
    path = config("task: my_task.py:f\nscorers:\n  - {use: json_valid}\n")
    assert assay("run", path, "--store", "other", "--max-failures", "0").code == 2
    resume = ["resume", "latest", "--store", "other", "--json", "--quiet"]
    refused = program(*resume)
    _, err = refused.communicate(timeout=60)
    assert refused.returncode == 1
    assert "which is not trusted" in err
    trusted = program(*resume, "--trust", "other")
    out, err = trusted.communicate(timeout=60)
    assert (trusted.returncode, json.loads(out)["rows"]) == (0, 4), err


@pytest.mark.ray
def test_the_same_rows_come_out_of_ray(assay, workplace: Path) -> None:
    inline = assay(*EXACT, "--to", "inline", "--engine", "inline", "--json").json
    said = assay(*EXACT, "--to", "ray", "--engine", "ray", "--workers", "1", "--json", "--quiet")
    assert said.code == 0, said.err
    assert said.err == ""
    assert [Path(file).name for file in said.json["files"]] == [Path(file).name for file in inline["files"]]
    assert said.json["summary"] == inline["summary"]
