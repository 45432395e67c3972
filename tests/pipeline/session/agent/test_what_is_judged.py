"""What a session leaves is kept and judged, whatever its agent or its provider brought about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.records.exchange import ChatRequest, Completion
from pipeline.session.audit_log import read_events
from pipeline.store import Store


def shell(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"tool": "exec", "arguments": {"command": command}}]}


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p pkg/.git; echo 'exit 0' > pkg/.git/s.sh; rm src/sum.sh; ln -s ../pkg/.git/s.sh src/sum.sh",
        "mkdir '.git:a' && echo 'exit 0' > '.git:a/s.sh'; rm src/sum.sh; ln -s '../.git:a/s.sh' src/sum.sh",
        "echo x > '.git\\a'; mkdir -p sub/.git && echo x > sub/.git/config",
    ],
)
def test_the_tree_that_is_judged_is_the_one_that_a_replay_has(rehearsal, command: str) -> None:
    with rehearsal.play([shell(command), {"text": "done"}]) as live:
        seen = files(live.tree)
        with rehearsal.replayed(live) as again:
            assert files(again.tree) == seen
    assert not any(".git" in name.split("/") for name in seen)


def files(tree: Path) -> dict[str, str]:
    return {
        str(path.relative_to(tree)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in sorted(tree.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


class Defect:
    """A provider that nobody guards, and that breaks the session from within."""

    def __init__(self) -> None:
        self.n_asked = 0

    async def complete(self, request: ChatRequest) -> Completion:
        raise ArithmeticError("a defect")

    async def close(self) -> None:
        """Nothing."""


def test_a_defect_ends_the_session_as_errored_and_all_is_kept(rehearsal) -> None:
    with rehearsal.play([], provider=Defect()) as outcome:
        assert (outcome.ending.reason, outcome.ending.detail) == ("errored", "ArithmeticError: a defect")
        names = [event.name for event in read_events(outcome.log)]
        assert names[-2:] == ["session.end", "network.summary"]
        assert outcome.capture.stopped is not None
        assert rehearsal.store.exists(f"sessions/{outcome.session}/end.patch")
        with rehearsal.replayed(outcome) as again:
            assert again.ending == outcome.ending


def test_more_files_than_a_tree_may_have_are_refused_one_by_one(rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.sandbox.workspace.MAX_FILES", 40)
    calls = [{"tool": "write_file", "arguments": {"path": f"d{n}/e/f", "content": "x"}} for n in range(20)]
    with rehearsal.play([{"tool_calls": calls}, {"text": "done"}]) as outcome:
        failed = [is_error for is_error, _ in rehearsal.results(outcome).values()]
        assert (any(failed), all(failed)) == (True, False)
        assert outcome.ending.reason == "finished"
        assert rehearsal.store.exists(f"sessions/{outcome.session}/end.patch")


def test_a_store_inside_a_project_without_git_is_refused(rehearsal) -> None:
    plain = rehearsal.folder / "plain"
    plain.mkdir()
    (plain / "a.txt").write_text("a\n")
    rehearsal.fixture, rehearsal.store, rehearsal.base_commit = plain, Store(plain / ".assay"), "HEAD"
    with pytest.raises(InputError, match="so that the agent would see its sessions"), rehearsal.play([{"text": "x"}]):
        pass
    assert not (plain / ".assay" / "sessions").exists()


def test_a_project_without_git_that_changes_meanwhile_gives_the_agents_changes_alone(rehearsal) -> None:
    plain = rehearsal.folder / "plain"
    plain.mkdir()
    (plain / "a.txt").write_text("a\n")
    rehearsal.fixture, rehearsal.base_commit = plain, "HEAD"

    class Meddling(Defect):
        async def complete(self, request: ChatRequest) -> Completion:
            (plain / "b.txt").write_text("written by somebody else\n")
            raise ArithmeticError("enough")

    with rehearsal.play([], provider=Meddling()) as outcome:
        assert outcome.capture.workspace.patch_base64 == b""


def test_a_secret_in_task_and_prompt_is_nowhere_in_what_is_kept(rehearsal) -> None:
    secret = "sk-live-0123456789abcdef"
    environment = {"HOUSE_API_KEY": secret, "PATH": "/usr/bin:/bin"}
    world = rehearsal.world()._replace(environment=environment)
    task = f"Use {secret} well."
    choices = {"file": {"prompt": f"Say {secret}."}, "environment": environment, "world": world}
    with (
        rehearsal.play([shell("true"), {"text": "done"}], task=task, **choices) as live,
        rehearsal.replayed(live, task=task, world=world) as again,
    ):
        for outcome in (live, again):
            folder = outcome.log.parent
            assert [path.name for path in folder.iterdir() if secret in path.read_text()] == []
