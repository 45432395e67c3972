"""`assay eval check`: a spec, a session, one report and one exit status."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.formats.zon import write_zon
from pipeline.records.report import load_report


class Desk:
    """A fixture, its spec in ZON and an honest log; the command line to check them."""

    def __init__(self, folder: Path, honest: ModuleType, assay: Any) -> None:
        self.folder, self.honest, self.assay = folder, honest, assay
        self.fixture = folder / "fixture"
        self.commit = honest.make_fixture(self.fixture)
        honest.solve(self.fixture)
        self.log = folder / "log.jsonl"
        self.spec = folder / "sum.zon"
        self.write_spec()
        self.write_log()

    def write_spec(self, **changes: Any) -> None:
        self.spec.write_text(write_zon(self.honest.spec_of("fixture", **changes)))

    def write_log(self, **changes: Any) -> None:
        self.log.unlink(missing_ok=True)
        self.honest.write_log(self.log, self.commit, **changes)

    def check(self, *options: object) -> Any:
        return self.assay("eval", "check", self.spec, "--session", self.log, *options)


@pytest.fixture
def desk(workplace: Path, honest: ModuleType, assay) -> Desk:
    return Desk(workplace, honest, assay)


def failed(report: dict[str, Any]) -> list[str]:
    return [finding["name"] for finding in report["findings"] if not finding["passed"]]


def test_a_solved_session_is_exit_0(desk: Desk) -> None:
    said = desk.check()
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(
        "a list without numbers is refused, session 01J0000000ABCDEFGHJKMNPQRS\n\nharness: 3 passed\n"
    )
    assert said.out.endswith("\npassed\n")
    assert re.search(r"^score +1\.0000 \((\d+) of \1 passed\)$", said.out, re.MULTILINE)
    assert re.search(r"^tests +1\.0000 +1$", said.out, re.MULTILINE)


def test_json_is_the_report_as_it_is_written(desk: Desk) -> None:
    said = desk.check("--format", "json")
    assert said.code == 0
    report = load_report(said.out.encode(), "stdout").report
    assert report.to_bytes() == said.out.encode()
    assert (report.passed, report.base_commit, report.sandbox_driver) == (True, desk.commit, "native")
    assert list(said.json) == sorted(said.json)
    assert said.json["producer"]["name"] == "assay"


def test_a_failed_finding_is_exit_3_and_is_shown_under_its_owner(desk: Desk) -> None:
    desk.honest.solve(desk.fixture, desk.honest.HALF)
    said = desk.check()
    assert said.code == 3
    below = said.out.split("\ntest: 1 of 2 failed\n")[1].splitlines()
    assert below[0].split() == ["ok", "test:unit", "expected", "0", "actual", "0"]
    assert below[2].split() == ["FAILED", "test:empty", "expected", "0", "actual", "1"]
    assert "a list without numbers has a sum" in below[4]
    assert said.out.endswith("\nfailed\n")


# Of each kind of session: what fails, who owns a fault, and the exit status.
KINDS: dict[str, tuple[list[str], str | None, int]] = {
    "solved": ([], None, 0),
    "half solved": (["test:empty"], None, 3),
    "lost child": (["session.subagents.complete"], "harness", 3),
    "refused": (["session.no_refusals"], None, 3),
    "over budget": (["session.max_cost"], None, 3),
    "network used": (["network.forbidden_host:example.invalid", "network.none"], None, 3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_session_fails_what_it_should_and_nothing_else(desk: Desk, kind: str) -> None:
    names, owner, code = KINDS[kind]
    desk.log.unlink()
    desk.honest.write_session(desk.log, desk.commit, kind)
    desk.honest.solve(desk.fixture, desk.honest.HALF if kind == desk.honest.HALF_SOLVED else desk.honest.SOLVED)
    said = desk.check("--format", "json")
    assert said.code == code
    assert (failed(said.json), said.json["fault_owner"]) == (names, owner)


def test_a_tampered_log_is_exit_9_and_not_the_models_failure(desk: Desk) -> None:
    desk.log.unlink()
    desk.honest.write_session(desk.log, desk.commit, desk.honest.TAMPERED)
    said = desk.check("--format", "json")
    assert said.code == 9
    assert "audit.chain" in failed(said.json)
    assert said.json["fault_owner"] == "harness"
    assert not [each for each in said.json["findings"] if each["category"] == "model" and not each["passed"]]


EVENTS = {
    "a price that is not known": (lambda h: {"extra": [h.Usage()]}, ["session.max_cost"], None),
    "another sandbox": (lambda h: {"sandbox_driver": "none"}, ["sandbox.driver"], "sandbox"),
    "no end": (lambda h: {"without": ["session.end"]}, ["session.end_reason"], "harness"),
    "no child": (lambda h: {"without": ["session.spawn"]}, ["session.subagents.min"], None),
}


@pytest.mark.parametrize("what", EVENTS)
def test_each_failure_has_its_owner(desk: Desk, what: str) -> None:
    changes, names, owner = EVENTS[what]
    desk.write_log(**changes(desk.honest))
    said = desk.check("--skip-tests", "--format", "json")
    assert said.code == 3
    assert (failed(said.json), said.json["fault_owner"]) == (names, owner)


@pytest.mark.parametrize("damage", ["edited", "torn", "empty", "not a log", "other header"])
def test_a_log_that_cannot_be_verified_is_exit_9_and_not_the_models_failure(desk: Desk, damage: str) -> None:
    data = desk.log.read_bytes()
    damaged = {
        "edited": data.replace(b"I look at", b"I see in "),
        "torn": data[:-3],
        "empty": data[:16],
        "not a log": b"\x00\xff" * 100,
        "other header": data.replace(b":1}", b":2}", 1),
    }
    desk.log.write_bytes(damaged[damage])
    desk.honest.solve(desk.fixture, desk.honest.BROKEN)  # a failed test beside it does not make it a 3
    said = desk.check("--format", "json")
    assert (said.code, said.err) == (9, "")
    assert said.json["fault_owner"] == "harness"
    assert "model" not in said.json["reward_components"]
    assert "test:empty" in failed(said.json)
    assert "no evidence about the model" in desk.check("--skip-tests").out


def test_a_pinned_log_that_is_another_is_exit_9(desk: Desk) -> None:
    desk.write_spec(expect={"audit_sha256": "0" * 64})
    said = desk.check("--skip-tests", "--format", "json")
    assert said.code == 9
    assert failed(said.json)[0] == "audit.sha256"


def test_a_session_of_the_store_is_named_by_its_id(desk: Desk) -> None:
    folder = desk.folder / ".assay" / "sessions" / desk.honest.SESSION
    folder.mkdir(parents=True)
    desk.log.rename(folder / "log.jsonl")
    said = desk.assay("eval", "check", desk.spec, "--session", desk.honest.SESSION, "--skip-tests", "--format", "json")
    assert (said.code, said.json["session"]) == (0, desk.honest.SESSION)
    other = folder.with_name("01K0000000ABCDEFGHJKMNPQRS")
    folder.rename(other)
    said = desk.assay("eval", "check", desk.spec, "--session", other.name, "--skip-tests")
    assert said.code == 9
    assert "another session" in said.out


def test_a_session_is_found_by_the_beginning_or_the_end_of_its_id(desk: Desk) -> None:
    twin = f"{desk.honest.SESSION[:-4]}ZZZZ"
    for name in (desk.honest.SESSION, twin):
        folder = desk.folder / ".assay" / "sessions" / name
        folder.mkdir(parents=True)
        (folder / "log.jsonl").write_bytes(desk.log.read_bytes())
    command = ("eval", "check", desk.spec, "--skip-tests", "--session")
    for text in (desk.honest.SESSION, desk.honest.SESSION[-4:], desk.honest.SESSION[-6:].lower()):
        assert desk.assay(*command, text).code == 0
    said = desk.assay(*command, desk.honest.SESSION[:8])
    assert (said.code, said.out) == (1, "")
    assert f"stands for 2 sessions of {desk.folder / '.assay'} ({twin}, {desk.honest.SESSION}); give more" in said.err
    said = desk.assay(*command, "zzzz")
    assert (said.code, said.err) == (9, "")  # the twin's folder holds the log of the other


OTHERS = {
    "capture.json": ('{"exchanges":[{"schema":"x"}],"schema":"assay.capture","version":1}', "it is an assay.capture"),
    "report.json": ('{\n "name": "x",\n "schema": "chock.eval-report"\n}', "it is a chock.eval-report"),
    "spec.yaml": ("# a spec\nschema: chock.eval\n", "it is a chock.eval"),
    "spec.zon": ('.{\n    .schema = "chock.eval",\n}', "it is a chock.eval"),
    "log.jsonl.gz": (b"\x1f\x8b\x08", "it is compressed"),
    "notes.txt": ("nothing\n", 'its first line is not {"chock_log":1}'),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_that_is_no_log_is_told_with_what_it_is_before_its_findings(desk: Desk, name: str) -> None:
    content, what = OTHERS[name]
    for folder, give in (
        (desk.folder, f"give the log beside it, {desk.log}"),
        (desk.folder / "far", "give the session's"),
    ):
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        said = desk.assay("eval", "check", desk.spec, "--session", folder / name, "--skip-tests")
        assert said.code == 9
        assert said.err.startswith(f"assay: {folder / name} is no audit log: {what}; {give}")
        assert said.err.count("\n") == 1


def test_a_path_that_was_meant_as_a_pattern_is_told(desk: Desk) -> None:
    desk.write_spec(expect={"forbidden_paths": ["*.pyc"]})
    said = desk.check("--skip-tests")
    assert said.err == (
        f"assay: {desk.spec}: expect.forbidden_paths: '*.pyc' is the path of one file and no pattern; "
        "it is looked for as it is\n"
    )


def test_a_component_of_which_nothing_was_judged_has_no_value_and_a_reward_without_evidence_says_so(desk: Desk) -> None:
    said = desk.check("--skip-tests")
    assert re.search(r"^tests +- +1$", said.out, re.MULTILINE)
    assert re.search(r"^reward +1\.0000$", said.out, re.MULTILINE)
    assert "-: nothing was judged of it, so it is no part of the reward" in said.out
    desk.log.write_bytes(desk.log.read_bytes()[:-3])
    said = desk.check("--skip-tests")
    assert re.search(
        r"^reward .* \(no evidence about the model; nothing was judged of .*tests\)$", said.out, re.MULTILINE
    )


def test_columns_stay_aligned_beside_a_long_name_and_a_long_value(desk: Desk) -> None:
    long = f"src/{'x' * 80}"
    digest = "0" * 64
    desk.write_spec(expect={"required_paths": ["src/sum.sh", long, f"src/{'y' * 30}"], "config_sha256": digest})
    lines = desk.check("--skip-tests").out.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("fixture: 2 of")) + 1
    fixture = lines[begin : lines.index("", begin)]
    assert {line.index("expected ") for line in fixture if "expected " in line} == {fixture[0].index("expected ")}
    assert {line.index("actual ") for line in fixture if "actual " in line} == {fixture[0].index("actual ")}
    assert f"  FAILED  path.required:{long}" in fixture
    (place,) = [number for number, line in enumerate(lines) if f"expected {digest}" in line]
    assert lines[place + 1].index("actual ") == lines[place].index("expected ")


def test_where_there_is_no_bubblewrap_it_is_told_how_to_go_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.sandbox.drivers._places", lambda _environment: [])
    said = desk.check()
    assert (said.code, said.out) == (2, "")
    for what in ("apt install bubblewrap", "assay[sandbox]", "--skip-tests checks everything but the spec's commands"):
        assert what in said.err
    assert desk.check("--skip-tests").code == 0


def test_the_same_spec_in_yaml_and_json_gives_the_same_findings(desk: Desk) -> None:
    ours = desk.check("--skip-tests", "--format", "json").json["findings"]
    for name in ("sum.json", "sum.yaml"):
        (desk.folder / name).write_text(json.dumps(desk.honest.spec_of("fixture")))
        said = desk.assay(
            "eval", "check", name, "--session", desk.log, "--skip-tests", "--format", "json"
        )  # fmt: skip
        assert said.json["findings"] == ours


@pytest.mark.parametrize(
    "options, message",
    [
        (["--session", "nowhere.jsonl"], "there is no such log"),
        (["--session", "nowhere.jsonl"], "/.assay\n"),
        (["--session", "01K0000000ABCDEFGHJKMNPQRS"], "there is no session 01K0000000ABCDEFGHJKMNPQRS in"),
        (["--session", "01K00000"], "there is no session 01K00000 in"),
        (["--session", "01K00000"], "/.assay, and no such file here; name its store with --store"),
        (["--sandbox", "nativ"], "unknown sandbox driver 'nativ'"),
        (["--format", "xml"], "'xml' is not one of 'text', 'json'"),
        (["--provenance-checkpoint", "x@1"], "--provenance-checkpoint is for sessions that are run or replayed"),
        (["--provenance-trainer", "grpo"], "--provenance-trainer is for sessions"),
        (["--provenance-seed", "42"], "--provenance-seed is for sessions"),
        (["--provenance-intervention", "x"], "--provenance-intervention is for sessions"),
        (["--provenance-intervention-sha256", "0" * 64], "--provenance-intervention-sha256 is for sessions"),
        (["--project", "."], "an agent could change what judges it"),
    ],
)
def test_a_wrong_option_is_exit_1_and_one_line(desk: Desk, options: list[str], message: str) -> None:
    said = desk.check(*options)
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert message in said.err


def test_a_session_must_be_named(desk: Desk) -> None:
    said = desk.assay("eval", "check", desk.spec)
    assert (said.code, said.out) == (1, "")
    assert "--session" in said.err


def test_a_spec_that_is_wrong_is_exit_1_with_file_line_and_field(desk: Desk) -> None:
    desk.spec.write_text(desk.spec.read_text().replace(".end_reason", ".end_raeson"))
    said = desk.check()
    assert (said.code, said.out) == (1, "")
    assert re.search(r"sum\.zon:\d+:.*unknown field 'expect\.end_raeson'; did you mean 'end_reason'\?", said.err)


def test_an_isolation_that_cannot_be_had_is_exit_2(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_UNSAFE_NO_SANDBOX", raising=False)
    for driver in ("microvm", "none"):
        said = desk.check("--sandbox", driver)
        assert (said.code, said.out) == (2, "")
        assert driver in said.err


def test_commands_run_open_only_where_that_is_allowed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_UNSAFE_NO_SANDBOX", "1")
    allowed = desk.check("--sandbox", "none")
    assert allowed.code == 0
    assert "run without a sandbox, with all rights" in allowed.out


def test_escapes_in_what_a_test_prints_are_shown_as_text(desk: Desk) -> None:
    desk.write_spec(tests=[{"name": "unit", "argv": ["printf", "\\033[2Jgone\\n"]}], test_files=[])
    said = desk.check()
    assert "\x1b" not in said.out
    desk.write_spec(tests=[{"name": "unit", "argv": ["sh", "-c", "printf '\\033[2Jgone\\n'; exit 1"]}])
    said = desk.check()
    assert "\x1b" not in said.out
    assert "\\x1b[2Jgone" in said.out


def test_a_report_can_be_compared_with_the_next(desk: Desk) -> None:
    (desk.folder / "baseline.json").write_text(desk.check("--format", "json").out)
    desk.honest.solve(desk.fixture, desk.honest.HALF)
    (desk.folder / "candidate.json").write_text(desk.check("--format", "json").out)
    assert desk.assay("eval", "compare", "baseline.json", "baseline.json").code == 0
    assert desk.assay("eval", "compare", "baseline.json", "candidate.json").code == 3
    assert desk.assay("eval", "compare", "candidate.json", "baseline.json", "--minimum-score", "1").code == 0


def test_a_terminal_gets_colours_and_a_pipe_none(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in desk.check("--skip-tests").out
    command = [sys.executable, "-m", "pipeline.cli", "eval", "check", desk.spec, "--session", desk.log, "--skip-tests"]
    assert "\x1b[32mpassed\x1b[0m" in on_a_terminal(command)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in on_a_terminal(command)


def on_a_terminal(command: list[Any]) -> str:
    """What a command writes to a terminal of its own."""
    ours, its = pty.openpty()
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env={**os.environ, "TERM": "xterm"})
    os.close(its)
    written = b""
    with contextlib.suppress(OSError):  # Linux says so when the last writer has gone
        while chunk := os.read(ours, 65_536):
            written += chunk
    os.close(ours)
    assert process.wait(60) == 0, written.decode()
    return written.decode()


def test_one_reason_for_many_findings_is_told_once(desk: Desk) -> None:
    desk.log.write_bytes(desk.log.read_bytes()[:-3])
    assert desk.check("--skip-tests").out.count("not judged: the log cannot be verified") == 1
