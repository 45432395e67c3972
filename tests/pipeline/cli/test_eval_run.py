"""`assay eval run` and `replay`, `assay session run`: a session as its user sees it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.formats.zon import write_zon
from pipeline.records.capture import Capture
from pipeline.session.audit_log import read_events
from pipeline.session.log_events import prompt_digest
from pipeline.session.trajectory import load_trajectory

SOLVING = [
    {"text": "I look.", "tool_calls": [{"tool": "exec", "arguments": {"command": "cat src/sum.sh"}}]},
    {"tool_calls": [{"tool": "spawn_agent", "arguments": {"task": "Read the tests."}}]},
    {"text": "They want exit status 2."},
    {
        "tool_calls": [
            {
                "tool": "edit_file",
                "arguments": {"path": "src/sum.sh", "old": "total=0", "new": 'test -s "$1" || exit 2\ntotal=0'},
            },
            {"tool": "finish", "arguments": {"result": "mended"}},
        ]
    },
]
GIVING_UP = [{"text": "I cannot."}]


class Desk:
    """A fixture outside of which a spec stands, and a script that plays the model."""

    def __init__(self, folder: Path, honest: ModuleType, assay: Any) -> None:
        self.folder, self.assay = folder, assay
        self.fixture = folder / "fixture"
        self.commit = honest.make_fixture(self.fixture)
        self.honest = honest
        self.spec, self.capture = folder / "sum.zon", folder / "captures" / "sum.json"
        self.script(SOLVING)
        self.write_spec()

    def script(self, turns: list[dict[str, Any]]) -> None:
        (self.folder / "script.json").write_text(json.dumps(turns))

    def write_spec(self, **changes: Any) -> None:
        expect = {
            "end_reason": "finished", "max_turns": 8, "required_paths": ["src/sum.sh"], "min_subagents": 1,
            "require_subagents_complete": True, "require_no_network": True, "require_no_refusals": True,
            "sandbox_driver": "native", **changes.pop("expect", {}),
        }  # fmt: skip
        spec = {
            "schema": "chock.eval", "version": 1, "name": "a list without numbers is refused", "task": "Mend it.",
            "fixture": "fixture", "provider": "scripted", "model": "script.json", "base_commit": "refs/tags/v1",
            "capture": "captures/sum.json", "expect": expect, "test_files": ["tests"],
            "tests": [{"name": name, "argv": ["sh", f"tests/{name}.sh"]} for name in ("unit", "empty")], **changes,
        }  # fmt: skip
        self.spec.write_text(write_zon(spec))

    def run(self, *options: object, command: str = "run") -> Any:
        return self.assay("eval", command, "sum.zon", "--format", "json", *options)


SESSION_RUN = (
    "session", "run", "--task", "x", "--project", "fixture", "--provider", "scripted", "--model", "script.json",
)  # fmt: skip


@pytest.fixture
def desk(workplace: Path, honest: ModuleType, assay: Any) -> Desk:
    return Desk(workplace, honest, assay)


def failed(said: Any) -> dict[str, str]:
    return {each["name"]: each["category"] for each in said.json["findings"] if not each["passed"]}


def test_a_run_is_recorded_judged_and_replayed_with_the_same_report(desk: Desk) -> None:
    live = desk.run()
    assert (live.code, failed(live)) == (0, {})
    assert Capture.from_bytes(desk.capture.read_bytes()).session == live.json["session"]
    again = desk.run(command="replay")
    assert again.code == 0
    told = [{**said.json, "session": None} for said in (live, again)]
    assert told[0] == told[1]
    checked = desk.assay("eval", "check", "sum.zon", "--session", live.json["session"], "--format", "json")
    ours = [each for each in live.json["findings"] if not each["name"].startswith("capture.")]
    assert (checked.code, checked.json["findings"]) == (0, ours)
    by_path = desk.folder / ".assay" / "sessions" / live.json["session"] / "log.jsonl"
    for place in (by_path, by_path.parent):
        again = desk.assay("eval", "check", "sum.zon", "--session", place, "--format", "json")
        assert (again.code, again.json["findings"]) == (0, ours)
    assert desk.honest.git(desk.fixture, "status", "--porcelain") == ""


def test_it_is_told_how_far_a_run_is_unless_that_is_not_wanted(desk: Desk) -> None:
    told = desk.run().err.splitlines()
    assert len(told) == 4
    assert re.fullmatch(r"assay: main: reply 1 of 50 at most, \d+\.\d s: exec", told[0])
    assert re.fullmatch(r"assay: helper: reply 1 of 50 at most, \d+\.\d s: done", told[2])
    assert desk.run("--overwrite", "--quiet").err == ""
    assert desk.run(command="replay").err == ""


MISSPELT = [
    {"tool_calls": [{"tool": "exec", "arguments": {"command": "cat nothing"}}]},
    {"tool_calls": [{"tool": "exce", "arguments": {"command": "ls"}}]},
    {"tool_calls": [{"tool": "exec", "arguments": {"comand": "ls"}}]},
    {"text": "done"},
]


def test_calls_that_gave_errors_are_told_below_the_report(desk: Desk) -> None:
    desk.script(MISSPELT)
    told = (
        "of 3 tool calls, 2 gave errors and 1 was a command that failed; "
        "the first: exce: there is no tool 'exce'; did you mean 'exec'?"
    )
    shown = desk.assay("eval", "run", "sum.zon", "--quiet")
    assert shown.out.splitlines()[-2:] == [told, "failed"]
    written = desk.run("--overwrite", "--quiet")
    assert written.err == f"assay: {told}\n"
    replayed = desk.assay("eval", "replay", "sum.zon")
    assert told in replayed.out
    assert f"calls    {told}\n" in desk.assay(*SESSION_RUN).out
    counts = desk.assay(*SESSION_RUN, "--output", "json").json
    assert (counts["tool_calls"], counts["tool_errors"], counts["failed_commands"]) == (3, 2, 1)
    assert counts["first_error"].startswith("exce: there is no tool")


REFUSED_SPECS = {
    "fixture": ({"fixture": "fixtrue"}, "sum.zon: fixture: 'fixtrue' is no folder; looked for "),
    "glob": (
        {"test_files": ["tests", "test/*.sh"]},
        "sum.zon: test_files: 'test/*.sh' matches no file of the fixture at refs/tags/v1",
    ),
    "script": (
        {"tests": [{"name": "unit", "argv": ["sh", "tests/unti.sh"]}]},
        "sum.zon: tests.unit: 'tests/unti.sh' is not there in the fixture, and no session can make it",
    ),
}


@pytest.mark.parametrize("what", REFUSED_SPECS)
def test_a_spec_that_no_session_could_pass_is_refused_before_a_model_is_asked(desk: Desk, what: str) -> None:
    changes, message = REFUSED_SPECS[what]
    desk.write_spec(**changes)
    said = desk.run()
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert message in said.err
    assert not (desk.folder / ".assay" / "sessions").exists()
    if what != "fixture":
        assert "did you mean 'tests" in said.err
        assert desk.run("--skip-tests").code in (0, 3)


def test_a_file_that_the_session_is_to_make_is_told_and_no_error(desk: Desk) -> None:
    desk.write_spec(tests=[{"name": "unit", "argv": ["sh", "src/smu.sh"]}])
    said = desk.run("--quiet")
    assert said.code == 3
    assert said.err == (
        "assay: sum.zon: tests.unit: argv names 'src/smu.sh', which the fixture does not have; "
        "the session is to make it; did you mean 'src/sum.sh'?\n"
    )
    assert failed(said) == {"test:unit": "test"}


def test_files_that_are_not_committed_are_told_before_a_session(desk: Desk) -> None:
    options = ("--quiet", "--store", "fixture/store")
    assert desk.assay(*SESSION_RUN, *options).err == ""
    (desk.fixture / "src" / "sum.sh").write_text("other\n")
    for number in range(3):
        (desk.fixture / f"new-{number}").touch()
    assert desk.assay(*SESSION_RUN, *options).err == (
        "assay: the session begins at the commit HEAD of fixture; 4 files are not committed there, and it sees nothing "
        "of them: src/sum.sh (changed), new-0 (new), new-1 (new) and 1 more\n"
    )


def test_a_session_that_gives_up_fails_its_test_and_a_broken_fixture_is_the_fixtures_fault(desk: Desk) -> None:
    desk.script(GIVING_UP)
    gave_up = desk.run()
    assert gave_up.code == 3
    assert failed(gave_up) == {"session.subagents.min": "model", "test:empty": "test"}
    assert gave_up.json["fault_owner"] is None
    desk.script(SOLVING)
    desk.write_spec(expect={"required_paths": ["src/lost.sh"]})
    broken = desk.run("--overwrite")
    assert failed(broken) == {"path.required:src/lost.sh": "fixture"}


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 401}, "connect", "garbage", {"status": 429}])
def test_a_provider_that_fails_is_never_the_models_failure(desk: Desk, fault: object) -> None:
    desk.script([SOLVING[0], {"fault": fault}])
    said = desk.run()
    assert said.code == 3
    assert said.json["fault_owner"] == "harness"
    assert "model" not in failed(said).values()


def test_a_capture_that_is_there_is_not_replaced_by_the_way(desk: Desk) -> None:
    desk.run()
    before = desk.capture.read_bytes()
    said = desk.run()
    assert (said.code, said.out) == (1, "")
    assert "captures/sum.json is there already" in said.err
    assert desk.capture.read_bytes() == before
    assert desk.run("--overwrite").code == 0
    assert desk.capture.read_bytes() != before


def test_what_was_run_is_pinned_by_provenance_given_on_the_command_line(desk: Desk) -> None:
    digest = "0123456789abcdef" * 4
    said = desk.run(
        "--provenance-checkpoint", "tiny@8", "--provenance-seed", "42", "--provenance-intervention", "warm",
        "--provenance-intervention-sha256", digest,
    )  # fmt: skip
    assert said.json["provenance"]["checkpoint"] == "tiny@8"
    assert said.json["provenance"]["seed"] == 42
    lonely = desk.run("--overwrite", "--provenance-intervention", "warm")
    assert (lonely.code, lonely.out) == (1, "")
    assert "give intervention and intervention_sha256 together" in lonely.err


def test_a_trajectory_of_a_run_its_replay_and_its_check_are_the_same_but_for_session_and_time(desk: Desk) -> None:
    live = desk.run("--trajectory", "live.json")
    assert desk.run("--trajectory", "replay.json", command="replay").code == 0
    desk.assay("eval", "check", "sum.zon", "--session", live.json["session"], "--trajectory", "check.json")
    first, second, third = (
        load_trajectory((desk.folder / f"{name}.json").read_bytes(), name) for name in ("live", "replay", "check")
    )
    assert first.turns == second.turns == third.turns
    assert not first.trainable
    assert first.capture is not None
    assert third.audit == first.audit


REFUSED = {
    "integrity": lambda data: data.replace(b"I look.", b"I see.."),
    "truncated": lambda data: data[: len(data) // 2],
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_capture_that_was_changed_is_refused_with_exit_2(desk: Desk, what: str) -> None:
    desk.run()
    desk.capture.write_bytes(REFUSED[what](desk.capture.read_bytes()))
    said = desk.run(command="replay")
    assert (said.code, said.out) == (2, "")
    assert "the replay is refused (integrity)" in said.err


def test_a_capture_of_another_spec_is_refused(desk: Desk) -> None:
    desk.run()
    desk.write_spec(name="another")
    said = desk.run(command="replay")
    assert (said.code, said.out) == (2, "")
    assert "the replay is refused (diverged): spec_sha256" in said.err


def test_a_replay_without_a_capture_and_a_run_without_a_provider_are_told(desk: Desk) -> None:
    said = desk.run(command="replay")
    assert said.code == 1
    assert "there is no such capture" in said.err
    desk.write_spec(provider="nobody")
    said = desk.run()
    assert said.code == 1
    assert "there is no provider 'nobody'" in said.err
    desk.write_spec(tools=["exec", "browser"])
    said = desk.run()
    assert said.code == 1
    assert "there is no tool 'browser'" in said.err


def test_a_spec_inside_its_fixture_is_not_run(desk: Desk) -> None:
    inside = desk.fixture / "sum.zon"
    inside.write_text(desk.spec.read_text().replace('"fixture"', '"."'))
    said = desk.assay("eval", "run", "fixture/sum.zon")
    assert said.code == 1
    assert "an agent could change what judges it" in said.err


def test_a_session_without_a_spec_tells_how_it_ended(desk: Desk) -> None:
    command = ("session", "run", "--task", "Mend it.", "--project", "fixture", "--provider", "scripted")
    said = desk.assay(*command, "--model", "script.json", "--output", "json")
    assert (said.code, said.json["reason"], said.json["result"]) == (0, "finished", "mended")
    desk.script([{"text": "  "}])
    said = desk.assay(*command, "--model", "script.json")
    assert said.code == 10
    assert "empty_response" in said.out
    nothing = desk.assay("session", "run", "--task", " ", "--project", "fixture", "--provider", "scripted")
    assert (nothing.code, nothing.err) == (1, "assay: --task is empty; expected what the agent is to do\n")
    for wrong in ("1", "x USD", "-1 USD", "1 usd"):
        assert desk.assay(*command, "--max-cost", wrong).code == 1


# Killed and interrupted.


SLOW = [
    *(
        {"tool_calls": [{"tool": "exec", "arguments": {"command": f"sleep 0.1; echo {number}"}}]}
        for number in range(40)
    ),
    {"text": "done"},
]


@pytest.fixture
def started(desk: Desk) -> Iterator[Any]:
    """Start a slow run, and wait until its log has so many events."""
    desk.script(SLOW)
    processes = []

    def start(n_events: int) -> tuple[subprocess.Popen[str], str]:
        desk.capture.unlink(missing_ok=True)
        before = set((desk.folder / ".assay").glob("sessions/*"))
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", "eval", "run", "sum.zon"],
            cwd=desk.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            fresh = set((desk.folder / ".assay").glob("sessions/*")) - before
            for folder in fresh:
                log = folder / "log.jsonl"
                if log.exists() and log.read_bytes().count(b"\n") > n_events:
                    return process, folder.name
            time.sleep(0.01)
        raise AssertionError("the run did not begin")

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("n_events", [0, 1, 3, 4, 5, 6, 8, 9, 12, 30])
def test_what_a_killed_run_leaves_is_never_blamed_on_the_model(desk: Desk, started: Any, n_events: int) -> None:
    process, session = started(n_events)
    process.kill()
    process.wait()
    said = desk.assay("eval", "check", "sum.zon", "--session", session, "--format", "json")
    assert said.code in (3, 9), said.err
    owners = set(failed(said).values())
    assert not owners & {"model", "test", "budget", "policy"}, failed(said)
    assert said.json["fault_owner"] in ("harness", "fixture")


def test_ctrl_c_ends_a_run_as_canceled_and_keeps_it(desk: Desk, started: Any) -> None:
    process, session = started(9)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"session {session} is kept" in err
    said = desk.assay("eval", "check", "sum.zon", "--session", session, "--format", "json")
    assert said.code == 3
    assert failed(said)["session.end_reason"] == "harness"


def test_an_interrupted_run_is_replayed_and_judged_like_any_other(desk: Desk, started: Any) -> None:
    process, session = started(9)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "stopping: the session is ended, judged and kept" in err
    report = json.loads((desk.folder / ".assay" / "sessions" / session / "report.json").read_bytes())
    said = desk.run(command="replay")
    assert said.code == 3
    assert said.json["findings"] == report["findings"]
    assert failed(said)["session.end_reason"] == "harness"


def test_a_capture_is_replayed_on_another_machine_and_with_another_version(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    recorded = desk.run()
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "deeper"
    shutil.copytree(desk.folder, elsewhere)
    there = elsewhere / desk.capture.relative_to(desk.folder)
    capture = Capture.from_bytes(there.read_bytes())
    there.write_bytes(
        capture.model_copy(update={"producer": capture.producer.model_copy(update={"version": "9.9.9"})}).to_bytes()
    )
    said = desk.assay("eval", "replay", str(elsewhere / "sum.zon"), "--format", "json")
    assert said.code == 0, said.err
    assert said.json["findings"] == recorded.json["findings"]
    assert said.json["reward"] == recorded.json["reward"]


def test_a_capture_of_another_version_that_does_not_fit_says_so(desk: Desk) -> None:
    desk.run()
    capture = Capture.from_bytes(desk.capture.read_bytes())
    changed = {
        "producer": capture.producer.model_copy(update={"version": "9.9.9"}),
        "config": capture.config.model_copy(update={"prompt": "Another one."}),
        "prompt_sha256": prompt_digest(capture.config.model_copy(update={"prompt": "Another one."}), "Mend it."),
    }
    desk.capture.write_bytes(capture.model_copy(update=changed).to_bytes())
    said = desk.run(command="replay")
    assert said.code == 2
    assert "the replay is refused (diverged)" in said.err
    assert "request.system" in said.err
    assert "recorded by another version (9.9.9)" in said.err


def test_ten_replays_without_a_network_give_the_same_report_and_log(desk: Desk) -> None:
    own_network = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-current-user"]), "--net"]
    if subprocess.run([*own_network, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("the kernel lets no ordinary process have a network of its own")
    ran = desk.run()
    command = [*own_network, sys.executable, "-m", "pipeline.cli", "eval", "replay", "sum.zon", "--format", "json"]
    for _ in range(10):
        done = subprocess.run(command, cwd=desk.folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert {**report, "session": ""} == {**ran.json, "session": ""}
        assert events_of(desk, report["session"]) == events_of(desk, ran.json["session"])


def events_of(desk: Desk, session: str) -> list[Any]:
    """The events of a log but for times and the session's own id."""
    log = desk.folder / ".assay" / "sessions" / session / "log.jsonl"
    return [json.loads(json.dumps([each.name, each.raw]).replace(session, "SESSION")) for each in read_events(log)]


@pytest.mark.parametrize("host", ["http://x/", "", "a b", "-x", "host:99999"])
def test_what_is_no_host_cannot_be_granted(desk: Desk, host: str) -> None:
    said = desk.assay(*SESSION_RUN, "--allow-host", host)
    assert (said.code, said.out) == (1, "")
    assert repr(host) in said.err
    assert not (desk.folder / ".assay" / "sessions").exists()


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--sandbox", "microvm"], 2, "microvm is not configured here"),
        (["--sandbox", "none"], 2, "ASSAY_UNSAFE_NO_SANDBOX=1"),
        (["--sandbox", "docker"], 1, "unknown sandbox driver 'docker'"),
        (["--base-commit", "nowhere"], 1, "base_commit 'nowhere' is no commit of"),
        (["--provider", "hosue"], 1, "there is no provider 'hosue'"),
        (["--model", "nowhere.json"], 1, "nowhere.json: the script cannot be read"),
        (["--project", "nowhere"], 1, "nowhere is no folder"),
        (["--max-cost", "1 dollar"], 1, "expected an amount and a currency"),
        (["--task", " "], 1, "--task is empty"),
    ],
)
def test_what_cannot_be_run_is_one_clear_line_and_leaves_no_session(
    desk: Desk, options: list[str], code: int, told: str
) -> None:
    said = desk.assay(*SESSION_RUN, *options)
    assert (said.code, said.out, said.err.count("\n")) == (code, "", 1)
    assert told in said.err
    assert not (desk.folder / ".assay" / "sessions").exists()


def test_a_session_that_another_spec_has_run_is_judged_and_that_is_told(desk: Desk) -> None:
    ran = desk.run()
    options = ("eval", "check", "sum.zon", "--session", ran.json["session"])
    assert "another spec" not in desk.assay(*options).err
    desk.write_spec(name="a changed one")
    said = desk.assay(*options)
    assert said.code == 0
    assert f"session {ran.json['session']} was run with another spec than" in said.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_tests_run_names_the_session_that_is_kept(
    desk: Desk, started: Any, number: signal.Signals
) -> None:
    desk.write_spec(tests=[{"name": "slow", "argv": ["sh", "-c", "sleep 60"]}])
    process, session = started(9)
    folder = desk.folder / ".assay" / "sessions" / session
    until = time.monotonic() + 60
    while not (folder / "end.patch").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    time.sleep(0.7)  # the tests have begun
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert f"interrupted; session {session} is kept as far as it went" in err
    assert Capture.from_bytes(desk.capture.read_bytes()).session == session


def test_an_agent_that_edits_its_tests_is_judged_by_those_of_the_base(desk: Desk) -> None:
    desk.script(
        [
            {"tool_calls": [{"tool": "exec", "arguments": {"command": "for t in tests/*; do echo exit 0 > $t; done"}}]},
            *GIVING_UP,
        ]
    )
    said = desk.run()
    assert (said.code, failed(said)["test:empty"]) == (3, "test")
    replayed = desk.run(command="replay")
    assert replayed.json["findings"] == said.json["findings"]


def write_minimal(desk: Desk, tests: list[dict[str, Any]]) -> None:
    """A spec that expects nothing but that its tests pass."""
    spec = {
        "schema": "chock.eval", "version": 1, "name": "minimal", "task": "Mend it.", "fixture": "fixture",
        "provider": "scripted", "model": "script.json", "capture": "captures/sum.json", "tests": tests,
    }  # fmt: skip
    desk.spec.write_text(write_zon(spec))


@pytest.mark.parametrize(
    ("fault", "reason"), [("connect", "errored"), ({"status": 429}, "rate_limited"), ("cut", "errored")]
)
def test_a_spec_that_expects_no_end_blames_no_model_for_a_provider_that_is_down(
    desk: Desk, fault: Any, reason: str
) -> None:
    desk.script([{"fault": fault}])
    write_minimal(desk, [{"name": "empty", "argv": ["sh", "tests/empty.sh"]}])
    said = desk.run()
    assert (said.code, said.json["fault_owner"]) == (3, "harness")
    assert failed(said) == {"test:empty": "test", "session.end_reason": "harness"}
    assert f"the session ended as {reason}" in said.err
    write_minimal(desk, [{"name": "unit", "argv": ["sh", "tests/unit.sh"]}])
    passed = desk.run("--overwrite")
    assert (passed.code, failed(passed)) == (0, {})


def test_a_session_with_an_end_of_its_own_answers_for_its_tests(desk: Desk) -> None:
    desk.script(GIVING_UP)
    write_minimal(desk, [{"name": "empty", "argv": ["sh", "tests/empty.sh"]}])
    said = desk.run()
    assert (said.json["fault_owner"], failed(said)) == (None, {"test:empty": "test"})
