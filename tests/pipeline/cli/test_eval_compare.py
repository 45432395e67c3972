"""`assay eval compare`: two files, one decision."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

REPORT: dict[str, Any] = {
    "schema": "chock.eval-report", "version": 1, "name": "parser", "session": "01J0000000ABCDEFGHJKMNPQRS",
    "spec_sha256": "a" * 64, "base_commit": "b" * 40, "config_sha256": None, "sandbox_sha256": None,
    "sandbox_driver": "native", "producer": {"name": "assay", "version": "0.1.0"}, "provenance": None, "passed": True,
    "score": 0.9, "reward": 0.8, "reward_components": {"model": 1.0, "tests": 0.5}, "fault_owner": None,
    "findings": [],
}  # fmt: skip


@pytest.fixture
def reports(workplace: Path):
    """Write baseline.json and candidate.json."""

    def write(ours: dict[str, Any] | None = None, theirs: dict[str, Any] | None = None) -> tuple[Path, Path]:
        paths = workplace / "baseline.json", workplace / "candidate.json"
        for path, changes in zip(paths, (ours, theirs), strict=True):
            path.write_text(json.dumps(REPORT | (changes or {})) + "\n")
        return paths

    return write


def test_as_good_is_exit_0(assay, reports) -> None:
    said = assay("eval", "compare", *reports())
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[-1] == "passed: +0.0000 (at most 0 below)"


def test_worse_is_exit_3_and_says_why(assay, reports) -> None:
    said = assay("eval", "compare", *reports(theirs={"score": 0.5}), "--minimum-score", "0.6")
    assert said.code == 3
    assert "- the candidate's score 0.5 is below the floor of 0.6" in said.out
    assert "- the candidate's score 0.5 is 0.4 below the baseline's 0.9; 0 is allowed" in said.out
    assert said.out.splitlines()[-1] == "failed: -0.4000 (at most 0 below, floor 0.6)"


def test_json_holds_the_decision_and_its_numbers(assay, reports) -> None:
    ours, theirs = reports(theirs={"score": 0.8})
    said = assay("eval", "compare", ours, theirs, "--max-regression", "0.1", "--format", "json")
    assert said.code == 0
    assert said.out == json.dumps(said.json, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    assert said.json == {
        "schema": "chock.eval-comparison", "version": 1,
        "baseline": {"name": "parser", "score": 0.9, "sha256": hashlib.sha256(ours.read_bytes()).hexdigest()},
        "candidate": {"name": "parser", "score": 0.8, "sha256": hashlib.sha256(theirs.read_bytes()).hexdigest()},
        "minimum_score": None, "max_regression": 0.1, "delta": pytest.approx(-0.1), "passed": True, "reasons": [],
    }  # fmt: skip


def test_other_pins_are_exit_3_unless_allowed(assay, reports) -> None:
    paths = reports(theirs={"name": "lexer", "provenance": {"model_profile": "qwen", "seed": 42}})
    said = assay("eval", "compare", *paths)
    assert said.code == 3
    assert '- name differs: "parser" and "lexer"; --allow name compares them all the same' in said.out
    assert "seed" in said.out
    assert assay("eval", "compare", *paths, "--allow", "name", "--allow", "model_profile").code == 0


def test_a_report_that_is_no_evidence_is_exit_4(assay, reports) -> None:
    paths = reports(theirs={"fault_owner": "harness"})
    said = assay("eval", "compare", *paths, "--format", "json")
    assert (said.code, said.json["passed"]) == (4, False)
    assert assay("eval", "compare", *paths, "--minimum-score", "0.95").code == 3


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"version": 2}, "candidate.json: version is 2; this assay reads version 1"),
        ({"schema": "chock.eval"}, "candidate.json: schema is \"chock.eval\"; this assay reads schema"),
        ({"score": 1.1}, "candidate.json: score: found 1.1"),
        ({"score": float("nan")}, "candidate.json: NaN is no JSON number"),
        ({"scores": 1}, "candidate.json: unknown field 'scores'; did you mean 'score'?"),
    ],
)  # fmt: skip
def test_a_wrong_report_is_exit_1_and_named(assay, reports, changes: dict[str, Any], message: str) -> None:
    said = assay("eval", "compare", *reports(theirs=changes), "--format", "json")
    assert (said.code, said.out) == (1, "")
    assert message in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "options, message",
    [
        (["--minimum-score", "1.5"], "minimum_score is 1.5; expected a fraction from 0 to 1"),
        (["--max-regression", "nan"], "max_regression is nan; expected a fraction"),
        (["--max-regression", "much"], "--max-regression"),
        (["--allow", "score"], "'score' is no field that can be allowed to differ"),
        (["--format", "xml"], "'xml' is not one of 'text', 'json'"),
        (["--provenance-seed", "42"], "--provenance-seed is for sessions that are run or replayed"),
    ],
)
def test_a_wrong_option_is_exit_1(assay, reports, options: list[str], message: str) -> None:
    said = assay("eval", "compare", *reports(), *options)
    assert (said.code, said.out) == (1, "")
    assert message in said.err


def test_files_that_are_no_files_are_exit_1(assay, reports, workplace: Path) -> None:
    ours, _ = reports()
    os.mkfifo(workplace / "pipe")
    for path in ("missing.json", workplace, "pipe"):
        said = assay("eval", "compare", ours, path)
        assert (said.code, said.out, said.err.count("\n")) == (1, "", 1), path


def test_escapes_of_a_terminal_in_a_report_are_shown_as_text(assay, reports) -> None:
    said = assay("eval", "compare", *reports({"name": "\x1b[2Jparser"}, {"name": "\x1b[2Jparser"}))
    assert "\x1b" not in said.out
    assert "\\x1b[2Jparser" in said.out
