"""The page on evaluating a session, for sessions that are run: recorded, replayed, bound into a trajectory."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.cli import main

TURNS: list[dict[str, Any]] = [
    {"tool_calls": [{"tool": "spawn_agent", "arguments": {"task": "Read the tests."}}]},
    {"text": "An empty list is wanted to be exit status 2."},
    {
        "tool_calls": [
            {
                "tool": "edit_file",
                "arguments": {"path": "src/sum.sh", "old": "total=0", "new": 'test -s "$1" || exit 2\ntotal=0'},
            },
            {"tool": "finish", "arguments": {"result": "done"}},
        ]
    },
]
TOKENS = {"prompt_token_ids": [1, 2], "response_token_ids": [3], "response_mask": [1], "old_logprobs": [-0.25]}
ONES = "1" * 64

Run = Callable[..., tuple[int, dict[str, Any]]]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def run(tmp_path: Path, honest: ModuleType, page: str, monkeypatch: pytest.MonkeyPatch, capfd) -> Run:
    """Runs or replays the page's spec; its pins are those of a first session."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    folder = tmp_path / "evals"
    honest.make_fixture(folder / "fixtures" / "sum")
    (tmp_path / "script.json").write_text(json.dumps(TURNS))

    def call(command: str, *options: str) -> tuple[int, dict[str, Any]]:
        capfd.readouterr()
        code = main(["eval", command, "evals/sum.zon", "--format", "json", *options])
        said = capfd.readouterr()
        return code, json.loads(said.out) if said.out else {"err": said.err}

    def pin(config: str, sandbox: str) -> None:
        solved = sha256(honest.SOLVED.encode())
        text = page.format(zeros="0" * 64, config=config, sandbox=sandbox, solved=solved, log=ONES)
        text = text.replace('"local"', '"scripted"').replace('"coder"', '"script.json"')
        # The bytes of a log that is yet to be written cannot be pinned.
        (folder / "sum.zon").write_text(text.replace(f'        .audit_sha256 = "{ONES}",\n', ""))

    pin(ONES, ONES)
    code, first = call("run")
    failed = {each["name"]: each["actual"] for each in first["findings"] if not each["passed"]}
    assert (code, sorted(failed)) == (3, ["config.sha256", "sandbox.sha256"])
    (folder / "captures" / "sum.json").unlink()
    pin(first["config_sha256"], first["sandbox_sha256"])
    return call


def test_a_run_is_recorded_and_a_replay_gives_the_same_report(run: Run) -> None:
    code, ran = run("run")
    assert (code, ran["score"], ran["reward"]) == (0, 1, 1)
    code, replayed = run("replay")
    assert code == 0
    assert replayed["session"] != ran["session"]
    assert {**replayed, "session": ""} == {**ran, "session": ""}
    assert run("check", "--session", ran["session"])[0] == 0


def test_a_run_begins_at_the_pinned_commit_even_if_the_branch_moves(run: Run, tmp_path: Path, honest) -> None:
    fixture = tmp_path / "evals" / "fixtures" / "sum"
    (fixture / "src" / "sum.sh").write_text("exit 9\n")
    honest.git(fixture, "commit", "-qam", "Another state.")
    code, ran = run("run")
    assert code == 0
    assert ran["base_commit"] == honest.git(fixture, "rev-parse", "v1") != honest.git(fixture, "rev-parse", "HEAD")


def test_a_capture_that_does_not_fit_fails_closed(run: Run, tmp_path: Path) -> None:
    run("run")
    capture = tmp_path / "evals" / "captures" / "sum.json"
    capture.write_bytes(capture.read_bytes().replace(b"exit status 2", b"exit status 3"))
    code, said = run("replay")
    assert code == 2
    assert "the replay is refused (integrity)" in said["err"]


def trajectory(run: Run, command: str, *options: str) -> dict[str, Any]:
    run(command, "--trajectory", "rollout.json", "--overwrite", *options)
    return json.loads(Path("rollout.json").read_bytes())  # type: ignore[no-any-return]


def test_a_trajectory_binds_log_capture_and_report(run: Run, tmp_path: Path) -> None:
    _, ran = run("run")
    made = trajectory(run, "check", "--session", ran["session"])
    assert (made["schema"], made["version"]) == ("chock.rl-trajectory", 1)
    log = (tmp_path / ".assay" / "sessions" / ran["session"] / "log.jsonl").read_bytes()
    assert base64.b64decode(made["audit"]["jsonl_base64"]) == log
    assert made["audit"]["sha256"] == sha256(log)
    assert made["report"]["session"] == ran["session"]
    assert made["provenance"]["checkpoint"] == "tiny@7"
    # A hosted provider gives no ids: evidence, and no input of a policy gradient.
    assert (made["trainable"], bool(made["not_trainable_because"])) == (False, True)


def test_a_trajectory_with_ids_of_every_turn_is_trainable(run: Run, tmp_path: Path) -> None:
    turns = [{**turn, "tokens": {**TOKENS, "prompt_token_ids": [n]}} for n, turn in enumerate(TURNS)]
    (tmp_path / "script.json").write_text(json.dumps(turns))
    assert trajectory(run, "run")["trainable"] is True
    assert trajectory(run, "replay")["trainable"] is True
    turns[2]["tokens"] = {**TOKENS, "old_logprobs": []}
    (tmp_path / "script.json").write_text(json.dumps(turns))
    assert trajectory(run, "run")["trainable"] is False


def test_an_online_trainer_supplies_provenance_without_rewriting_the_spec(run: Run) -> None:
    given = ["checkpoint=tiny@8", "trainer=grpo-2", "seed=42", "intervention=warmer", f"intervention-sha256={ONES}"]
    flags = [f"--provenance-{each}" for each in given]
    code, ran = run("run", *flags)
    expected = {
        "model_profile": "tiny-chat", "checkpoint": "tiny@8", "trainer": "grpo-2", "seed": 42,
        "intervention": "warmer", "intervention_sha256": ONES,
    }  # fmt: skip
    assert (code, ran["provenance"]) == (0, expected)
    code, replayed = run("replay", *flags)
    assert (code, replayed["provenance"]) == (0, expected)


def test_an_intervention_and_its_digest_go_together(run: Run, tmp_path: Path) -> None:
    spec = tmp_path / "evals" / "sum.zon"
    lines = [line for line in spec.read_text().splitlines() if "intervention" not in line]
    spec.write_text("\n".join(lines))
    code, said = run("run", "--provenance-intervention", "warmer")
    assert code == 1
    assert "intervention_sha256" in said["err"]
