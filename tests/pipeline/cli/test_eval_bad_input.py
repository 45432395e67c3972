"""`assay eval` in the hands of somebody who is clumsy, or means no good."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Command = Callable[..., list[str]]


@pytest.fixture
def command(workplace: Path, honest: ModuleType) -> Command:
    """An honest session in `fixture`, checked by a process of its own; what is given becomes part of the spec."""
    commit = honest.make_fixture(workplace / "fixture")
    honest.solve(workplace / "fixture")
    honest.write_log(workplace / "log.jsonl", commit)

    def line(*options: str, **changes: Any) -> list[str]:
        (workplace / "spec.json").write_text(json.dumps(honest.spec_of("fixture", **changes)))
        return [sys.executable, "-m", "pipeline.cli", "eval", "check", "spec.json", "--session", "log.jsonl", *options]

    return line


def said(line: list[str], environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        line, env={**os.environ, **(environment or {})}, capture_output=True, timeout=120, check=False
    )


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def test_a_locale_without_the_letters_of_a_name_shows_them_escaped_and_writes_json_all_the_same(
    command: Command,
) -> None:
    shown = said(command("--skip-tests", name="zurück"), ASCII)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert shown.stdout.startswith(b"zur\\xfcck, session")
    written = said(command("--skip-tests", "--format", "json", name="zurück"), ASCII)
    assert (written.returncode, written.stderr) == (0, b"")
    assert json.loads(written.stdout)["name"] == "zurück"


def test_a_misspelt_event_is_told_on_stderr_and_looked_for_all_the_same(command: Command) -> None:
    expect = {"forbidden_events": ["tool.cal", "our.own"], "end_reason": "finnished"}
    done = said(command("--skip-tests", "--format", "json", expect=expect))
    assert done.returncode == 3
    passed = {each["name"]: each["passed"] for each in json.loads(done.stdout)["findings"]}
    assert passed["session.forbidden_event:tool.cal"]
    assert passed["session.forbidden_event:our.own"]
    assert not passed["session.end_reason"]
    assert done.stderr.decode().splitlines() == [
        "assay: spec.json: expect.end_reason: the format lists no name 'finnished'; it is looked for as it is; "
        "did you mean 'finished'?",
        "assay: spec.json: expect.forbidden_events: the format lists no name 'tool.cal'; it is looked for as it is; "
        "did you mean 'tool.call' or 'tool.result'?",
        "assay: spec.json: expect.forbidden_events: the format lists no name 'our.own'; it is looked for as it is",
    ]


@pytest.mark.parametrize("option", ["--project", "--session"])
def test_a_path_that_is_empty_is_not_the_folder_that_one_is_in(
    command: Command, assay, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    line = command()[3:]
    monkeypatch.chdir("fixture")
    Path("log.jsonl").write_bytes(Path("../log.jsonl").read_bytes())
    line[2], line[4] = "../spec.json", "log.jsonl"
    done = assay(*line, option, "")
    assert (done.code, done.out) == (1, "")
    assert "''" in done.err


@pytest.mark.parametrize(
    "line",
    [
        ["check", "spec.json", "--session", "log.jsonl", "--project", "a" * 5000],
        ["check", "spec.json", "--session", "a" * 5000],
        ["check", "a" * 5000 + ".zon", "--session", "log.jsonl"],
    ],
)
def test_a_path_that_is_too_long_is_bad_input(command: Command, assay, line: list[str]) -> None:
    command()
    done = assay("eval", *line, "--skip-tests")
    assert done.code in (1, 3)
    assert "Traceback" not in done.err
    assert "a defect" not in done.err


@pytest.mark.parametrize("driver", ["native", "none"])
def test_ctrl_c_ends_the_command_that_runs_and_leaves_nothing(command: Command, tmp_path: Path, driver: str) -> None:
    seconds, scratch = f"60{os.getpid()}", tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "ASSAY_UNSAFE_NO_SANDBOX": "1", "TMPDIR": str(scratch)}
    line = command("--sandbox", driver, tests=[{"name": "slow", "argv": ["sleep", seconds]}])
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        _wait(lambda: bool(_running(seconds)))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err
    _wait(lambda: not _running(seconds))
    assert list(scratch.iterdir()) == []


def _running(seconds: str) -> list[str]:
    wanted = f"sleep\0{seconds}\0".encode()
    return [place.parent.name for place in Path("/proc").glob("[0-9]*/cmdline") if _bytes_of(place) == wanted]


def _bytes_of(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError:  # it has ended
        return b""


def _wait(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)
