"""The page on evaluating a session, for sessions that are there: a spec in ZON, an honest log, two reports."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.cli import main


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def evals(tmp_path: Path, honest: ModuleType, page: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the spec: its fixture below it, and a session of the store beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    folder = tmp_path / "evals"
    fixture = folder / "fixtures" / "sum"
    session = tmp_path / ".assay" / "sessions" / honest.SESSION
    session.mkdir(parents=True)
    log = honest.write_log(session / "log.jsonl", honest.make_fixture(fixture))
    honest.solve(fixture)
    solved = sha256((fixture / "src" / "sum.sh").read_bytes())
    pins = {"config": honest.CONFIG, "sandbox": honest.SANDBOX, "solved": solved, "log": sha256(log.read_bytes())}
    (folder / "sum.zon").write_text(page.format(zeros="0" * 64, **pins))
    return folder


def check(capfd: pytest.CaptureFixture[str], honest: ModuleType, *options: str) -> tuple[int, str]:
    capfd.readouterr()
    code = main(["eval", "check", "evals/sum.zon", "--session", honest.SESSION, *options])
    return code, capfd.readouterr().out


def test_a_session_that_is_there_is_checked(evals: Path, honest: ModuleType, capfd) -> None:
    code, said = check(capfd, honest)
    assert code == 0, said
    owners = [line.split(":")[0] for line in said.splitlines() if line.endswith(" passed") and line[0] != " "]
    assert owners == ["harness", "model", "budget", "policy", "sandbox", "network", "fixture", "test"]


def test_the_report_has_what_a_trainer_needs(evals: Path, honest: ModuleType, capfd) -> None:
    code, said = check(capfd, honest, "--format", "json")
    report = json.loads(said)
    assert code == 0
    assert (report["schema"], report["version"]) == ("chock.eval-report", 1)
    assert report["session"] == honest.SESSION
    assert report["base_commit"] == honest.git(evals / "fixtures" / "sum", "rev-parse", "v1")
    assert (report["config_sha256"], report["sandbox_sha256"]) == (honest.CONFIG, honest.SANDBOX)
    assert report["provenance"]["checkpoint"] == "tiny@7"
    assert (report["score"], report["reward"], report["fault_owner"]) == (1, 1, None)
    assert report["spec_sha256"] == sha256((evals / "sum.zon").read_bytes())


def test_a_failed_test_weighs_what_the_spec_says(evals: Path, honest: ModuleType, capfd) -> None:
    honest.solve(evals / "fixtures" / "sum", honest.BROKEN)
    code, said = check(capfd, honest, "--format", "json")
    report = json.loads(said)
    failed = {finding["name"]: finding["category"] for finding in report["findings"] if not finding["passed"]}
    assert (code, failed) == (3, {"file.sha256:src/sum.sh": "fixture", "test:empty": "test"})
    assert report["reward_components"] == {
        "budget": 1, "fixture": 0.8, "harness": 1, "model": 1, "network": 1, "policy": 1, "sandbox": 1, "tests": 0.5,
    }  # fmt: skip
    # fixture 2 × 0.8 and tests 3 × 0.5 of a sum of weights of 11.5; the harness weighs nothing
    assert report["reward"] == pytest.approx((1 + 1 + 2 * 0.8 + 2 + 2 + 0.5 + 3 * 0.5) / 11.5)
    assert report["score"] == pytest.approx((len(report["findings"]) - 2) / len(report["findings"]))


def test_tests_may_be_run_elsewhere(evals: Path, honest: ModuleType, capfd) -> None:
    code, said = check(capfd, honest, "--skip-tests", "--format", "json")
    assert code == 0
    assert "tests" not in json.loads(said)["reward_components"]


def test_a_log_that_was_touched_is_no_evidence_about_the_model(evals: Path, honest: ModuleType, capfd) -> None:
    log = evals.parent / ".assay" / "sessions" / honest.SESSION / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"finished","detail"', b'"errored","detail"'))
    code, said = check(capfd, honest, "--format", "json")
    report = json.loads(said)
    assert (code, report["fault_owner"]) == (9, "harness")
    assert "model" not in report["reward_components"]


def test_two_reports_are_compared_without_their_sessions(evals: Path, honest: ModuleType, capfd) -> None:
    Path("baseline.json").write_text(check(capfd, honest, "--format", "json")[1])
    honest.solve(evals / "fixtures" / "sum", honest.BROKEN)
    Path("candidate.json").write_text(check(capfd, honest, "--format", "json")[1])
    compare = ["eval", "compare", "baseline.json"]
    assert main([*compare, "baseline.json", "--minimum-score", "0.9"]) == 0
    assert main([*compare, "candidate.json"]) == 3
    assert main([*compare, "candidate.json", "--max-regression", "0.1", "--minimum-score", "0.9"]) == 0
    capfd.readouterr()
    assert main([*compare, "candidate.json", "--format", "json"]) == 3
    compared = json.loads(capfd.readouterr().out)
    assert (compared["schema"], compared["version"], compared["passed"]) == ("chock.eval-comparison", 1, False)
    assert compared["delta"] == pytest.approx(compared["candidate"]["score"] - 1)
