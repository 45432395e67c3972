"""Help is quick and loads nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pipeline

COMMANDS = [
    "run",
    "score",
    "dataset",
    "runs",
    "show",
    "results",
    "scorers",
    "cancel",
    "resume",
    "gc",
    "eval",
    "store",
    "doctor",
]
HEAVY = ["ray", "pyarrow", "duckdb", "polars", "fsspec", "numpy"]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["score", "--help"], ["dataset", "upload", "-h"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"import sys, pipeline.cli; pipeline.cli.main({arguments}); print([n for n in {HEAVY} if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_help_lists_every_command(assay) -> None:
    said = assay("--help")
    assert said.code == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in said.out] == []


@pytest.mark.parametrize(
    "command", [["run"], ["score"], ["dataset", "upload"], ["results"], ["store", "check"], ["eval", "compare"]]
)
def test_every_command_has_help(assay, command: list[str]) -> None:
    said = assay(*command, "--help")
    assert said.code == 0
    assert f"Usage: assay {' '.join(command)}" in said.out


def test_the_version_is_the_packages(assay) -> None:
    assert assay("--version") == (0, f"assay {pipeline.__version__}\n", "")


def test_no_command_shows_the_help_and_is_bad_usage(assay) -> None:
    said = assay()
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("Usage: assay")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["scroe"], "No such command 'scroe'. Did you mean 'score'"),
        (["run"], "Missing argument 'CONFIG'. Try 'assay run --help'."),
        (["score", "a.csv", "--exected-column", "b"], "No such option: --exected-column"),
        (["run", "a.yaml", "--engine", "spark"], "'spark' is not one of 'auto', 'inline', 'ray'"),
        (["run", "a.yaml", "--limit", "0"], "--limit"),
        (["results", "latest", "--below", "much"], "--below"),
    ],
)
def test_a_mistyped_command_line_is_one_clear_line(assay, arguments: list[str], message: str) -> None:
    said = assay(*arguments)
    assert (said.code, said.out) == (1, "")
    assert message in said.err
    assert said.err.startswith("assay: ")
    assert said.err.count("\n") == 1
