"""A session of the agent in the box: every step is in its log, and every end has its reason."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.records.agent_config import AgentConfig
from pipeline.records.audit_content import ToolUse, ToolUsePart
from pipeline.records.capture import Capture
from pipeline.records.digest import digest_bytes
from pipeline.records.eval_spec import Limits
from pipeline.records.exchange import ChatMessage, ChatReply, ChatRequest, Completion, Stop
from pipeline.sandbox import changed_workspace

Call = Callable[..., dict[str, Any]]


def test_a_session_mends_a_program_and_says_so_in_its_log(rehearsal, turns) -> None:
    with rehearsal.play(turns()) as outcome:
        assert (outcome.ending.reason, outcome.ending.result) == ("finished", "An empty list is refused now.")
        assert outcome.n_turns == 4
        names = [name for name, _ in rehearsal.events(outcome)]
        assert names[:7] == [
            "workspace.open", "sandbox.open", "message", "session.start", "session.config", "usage", "message",
        ]  # fmt: skip
        first = names.index("tool.call")
        assert names[first : first + 5] == [
            "tool.call", "approval.response", "approval.response", "tool.result", "message",
        ]  # fmt: skip
        assert names[-2:] == ["session.end", "network.summary"]
        facts = rehearsal.facts(outcome)
        assert [(child.outcome, child.agent_kind) for child in facts.children] == [("finished", "helper")]
        assert facts.base_commit == rehearsal.commit
        assert (facts.turns, facts.sandbox_driver) == (4, "native")
        assert (outcome.tree / "src" / "sum.sh").read_text() == rehearsal.honest.SOLVED


def test_what_a_session_leaves_is_in_the_store_and_leads_to_its_tree(rehearsal, turns) -> None:
    with rehearsal.play(turns()) as outcome:
        folder = f"sessions/{outcome.session}"
        config = rehearsal.store.read(f"{folder}/config.json")
        assert rehearsal.facts(outcome).config_hash == digest_bytes(config)
        assert AgentConfig.from_bytes(config).tools[0] == "exec"
        kept = Capture.from_bytes(rehearsal.store.read(f"{folder}/capture.json"))
        assert kept.to_bytes() == outcome.capture.to_bytes()
        patch = rehearsal.store.read(f"{folder}/end.patch")
        with changed_workspace(rehearsal.fixture, rehearsal.commit, patch, kept.workspace.end_tree) as tree:
            assert (tree.path / "src" / "sum.sh").read_text() == rehearsal.honest.SOLVED
        (child,) = [child.session for child in rehearsal.facts(outcome).children]
        assert rehearsal.store.exists(f"sessions/{child}/log.jsonl")
        assert rehearsal.store.exists(f"sessions/{child}/capture.json")
    assert rehearsal.honest.git(rehearsal.fixture, "status", "--porcelain") == ""


def test_an_answer_without_a_call_ends_the_work(rehearsal, make_turn) -> None:
    with rehearsal.play([make_turn(text="Nothing is wrong with it.")]) as outcome:
        assert (outcome.ending.reason, outcome.ending.result) == ("finished", "Nothing is wrong with it.")


ENDS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "nothing was said": ([{"text": "  "}], "empty_response"),
    "the model refuses": ([{"text": "No.", "stop": "refusal"}], "refused_by_model"),
    "too many requests": ([{"fault": {"status": 429}}], "rate_limited"),
    "a wrong key": ([{"fault": {"status": 401, "body": "who are you"}}], "errored"),
    "nobody answers": ([{"fault": "connect"}], "errored"),
    "a stream that is cut": ([{"text": "I beg", "fault": "cut"}], "errored"),
    "an answer that is none": ([{"fault": "garbage"}], "errored"),
    "a script that is too short": ([{"tool_calls": [{"tool": "exec", "arguments": {"command": "true"}}]}], "errored"),
}


@pytest.mark.parametrize("what", ENDS)
def test_every_end_has_its_reason(rehearsal, what: str) -> None:
    script, reason = ENDS[what]
    with rehearsal.play(script) as outcome:
        assert outcome.ending.reason == reason
        assert rehearsal.facts(outcome).end_reason == reason
        assert rehearsal.facts(outcome).requests == len(outcome.capture.exchanges) - len(rehearsal.results(outcome))


def test_turns_are_bounded(rehearsal, make_turn, make_call: Call) -> None:
    script = [make_turn(make_call("exec", command=f"echo {number}")) for number in range(5)]
    with rehearsal.play(script, limits=Limits(max_turns=3)) as outcome:
        assert (outcome.ending.reason, outcome.n_turns) == ("turn_limit", 3)


def test_an_agent_that_goes_round_in_a_circle_is_stopped(rehearsal, make_turn, make_call: Call) -> None:
    script = [make_turn(make_call("read_file", path="src/sum.sh")) for _ in range(5)]
    with rehearsal.play(script) as outcome:
        assert (outcome.ending.reason, outcome.n_turns) == ("no_progress", 3)


def test_time_is_bounded(rehearsal, make_turn, make_call: Call) -> None:
    passed = iter([0.0] * 5)  # the first reply is there by then
    world = rehearsal.world()._replace(monotonic=lambda: next(passed, 100.0))
    script = [make_turn(make_call("exec", command="true")), make_turn(text="done")]
    with rehearsal.play(script, limits=Limits(wall_clock_s=50), world=world) as outcome:
        assert (outcome.ending.reason, outcome.n_turns) == ("budget_reached", 1)


def test_tools_that_are_not_there_and_arguments_that_do_not_fit_are_told_to_the_model(
    rehearsal, make_turn, make_call: Call
) -> None:
    calls = [
        make_call("browser", url="x"),
        {"tool": "exec", "arguments": "{not json"},
        {"tool": "exec", "arguments": '{"command": 1}'},
        {"tool": "exec", "arguments": '{"command": "true", "extra": 1}'},
        {"tool": "read_file", "arguments": ""},
        make_call("read_file", path="nowhere"),
        make_call("edit_file", path="src/sum.sh", old="not there", new="x"),
        make_call("spawn_agent", task="  "),
        make_call("fetch_url", url="ftp://example.org"),
    ]
    with rehearsal.play([make_turn(*calls), make_turn(text="enough")]) as outcome:
        results = rehearsal.results(outcome)
        assert len(results) == len(calls)
        assert all(failed for failed, _ in results.values()), results
        told = [text for _, text in results.values()]
        assert "there is no tool 'browser'" in told[0]
        assert "arguments" in told[1]
        assert "command" in told[2]
        assert "nowhere" in told[5]
        assert outcome.ending.reason == "finished"


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../out", ".", "", "a\0b", "out/x", "tests/../../out"])
def test_files_outside_of_the_workspace_are_neither_read_nor_written(
    rehearsal, make_turn, make_call: Call, path: str
) -> None:
    outside = rehearsal.folder / "outside"
    outside.mkdir()
    (outside / "x").write_text("secret")
    calls = [
        make_call("exec", command=f"ln -s {outside} out"),
        make_call("read_file", path=path),
        make_call("write_file", path=path, content="changed"),
        make_call("edit_file", path=path, old="secret", new="changed"),
    ]
    with rehearsal.play([make_turn(*calls), make_turn(text="enough")]) as outcome:
        results = rehearsal.results(outcome)
        assert [failed for failed, _ in results.values()][1:] == [True, True, True]
        assert "secret" not in str(results)
    assert (outside / "x").read_text() == "secret"
    assert not (rehearsal.folder / "out").exists()


def test_an_agent_that_ruins_its_workspace_goes_on(rehearsal, make_turn, make_call: Call) -> None:
    calls = [
        make_call("exec", command="rm -rf /workspace/* /workspace/.[a-z]*; ls -A | wc -l"),
        make_call("exec", command="(setsid sleep 600 &) ; (nohup sleep 600 &) ; echo left"),
        make_call("write_file", path="deep/er/file", content="kept\n"),
        make_call("exec", command="cat deep/er/file; kill -9 -1"),
        make_call("exec", command="yes | head -c 3000000"),
    ]
    with rehearsal.play([make_turn(*calls), make_turn(make_call("finish"))]) as outcome:
        results = list(rehearsal.results(outcome).values())
        assert results[0][1].startswith("0")
        assert results[3][1].startswith("kept")
        assert len(results[4][1]) < 20_000
        assert outcome.ending.reason == "finished"
        assert os.listdir(outcome.tree) == ["deep"]


def test_approvals_decide_and_what_the_agent_gives_up_is_gone(rehearsal, make_turn, make_call: Call) -> None:
    calls = [
        make_call("exec", command="true"),
        make_call("spawn_agent", task="help"),
        make_call("fetch_url", url="https://example.org/"),
        make_call("restrict_self", action="exec", reason="not needed any more"),
        make_call("exec", command="true"),
    ]
    with rehearsal.play(
        [make_turn(*calls), make_turn(text="enough")], file={"approvals": {"call.spawn_agent": "deny"}}
    ) as outcome:
        results = list(rehearsal.results(outcome).values())
        assert [failed for failed, _ in results] == [False, True, True, False, True]
        assert "call.spawn_agent is denied by policy" in results[1][1]
        assert "net.fetch.org.example is denied" in results[2][1]
        assert "exec.shell is denied" in results[4][1]
        facts = rehearsal.facts(outcome)
        assert len(facts.refusals) == 3
        assert facts.children == ()


def test_helpers_go_only_so_deep(rehearsal, make_turn, make_call: Call) -> None:
    spawn = make_turn(make_call("spawn_agent", task="go on"))
    end = make_turn(text="up")
    with rehearsal.play([spawn, spawn, spawn, end, end, end]) as outcome:
        (child,) = rehearsal.facts(outcome).children
        assert child.outcome == "finished"
        assert outcome.ending.reason == "finished"


def test_a_helper_that_fails_is_told_by_its_outcome(rehearsal, make_turn, make_call: Call) -> None:
    script = [make_turn(make_call("spawn_agent", task="go")), {"fault": {"status": 500}}, make_turn(text="alone then")]
    with rehearsal.play(script) as outcome:
        (child,) = rehearsal.facts(outcome).children
        assert child.outcome == "refused"
        assert [failed for failed, _ in rehearsal.results(outcome).values()] == [True]


def test_secrets_of_this_process_reach_neither_log_nor_capture(rehearsal, make_turn, make_call: Call) -> None:
    secret = "sk-0123456789-do-not-tell"
    environment = {**os.environ, "SOME_API_KEY": secret}
    calls = [make_call("exec", command=f"env; echo {secret}"), make_call("write_file", path="x", content=secret)]
    with rehearsal.play([make_turn(*calls), make_turn(text=secret)], environment=environment) as outcome:
        assert secret not in outcome.log.read_text()
        assert secret.encode() not in outcome.capture.to_bytes()


def test_ctrl_c_ends_a_session_and_keeps_its_log(rehearsal, make_turn, make_call: Call) -> None:
    script = [make_turn(make_call("exec", command="sleep 60"))]
    began = time.monotonic()
    threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    with rehearsal.play(script) as outcome:
        assert outcome.ending.reason == "canceled_by_user"
        assert rehearsal.facts(outcome).end_reason == "canceled_by_user"
        assert rehearsal.store.exists(f"sessions/{outcome.session}/end.patch")
    assert time.monotonic() - began < 30


class SlowReplies:
    """A provider each of whose replies takes four seconds of a clock that nobody waits for."""

    def __init__(self, *calls: ToolUse) -> None:
        self.calls, self.passed_s, self.n_asked = calls, 0.0, 0

    async def complete(self, request: ChatRequest) -> Completion:
        use = self.calls[min(self.n_asked, len(self.calls) - 1)]
        self.passed_s, self.n_asked = self.passed_s + 4, self.n_asked + 1
        named = use.model_copy(update={"call_id": str(self.n_asked)})
        message = ChatMessage(role="assistant", content=(ToolUsePart(tool_use=named),))
        return Completion(reply=ChatReply(message=message, stop=Stop(reason="tool_calls")))

    async def close(self) -> None:
        """Nothing."""


def test_a_helper_has_no_more_time_than_its_session(rehearsal) -> None:
    provider = SlowReplies(
        ToolUse(call_id="", tool="spawn_agent", arguments='{"task": "go on"}'),
        ToolUse(call_id="", tool="update_plan", arguments='{"steps": []}'),
    )
    world = rehearsal.world()._replace(monotonic=lambda: provider.passed_s)
    with rehearsal.play([], provider=provider, world=world, limits=Limits(wall_clock_s=10)) as outcome:
        (child,) = rehearsal.facts(outcome).children
        assert (outcome.ending.reason, child.outcome) == ("budget_reached", "budget")
    assert provider.n_asked == 3  # at 12 s it is over for both
