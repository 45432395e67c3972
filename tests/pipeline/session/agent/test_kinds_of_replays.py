"""Sessions of all kinds, also those that were stopped, give the same log when they are replayed."""

from __future__ import annotations

import json
import signal
import threading
import time
from contextlib import AbstractContextManager
from typing import Any

import pytest

from pipeline.errors import ReplayError
from pipeline.records.capture import ProviderExchange
from pipeline.records.eval_spec import Limits
from pipeline.session.audit_log import read_events
from pipeline.session.replay_capture import check_order
from pipeline.session.run import Outcome

TASK = "Mend the sum."


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def turn(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"tool_calls": list(calls), **more}


DONE = turn(call("finish", result="done"))
SHELL = turn(call("exec", command="date +%N"))

SESSIONS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "calls of all kinds": (
        [
            turn(call("exec", command="echo x > x; exit 3"), call("read_file", path="x"), call("read_file", path="no")),
            turn({"tool": "nope", "arguments": "{"}, {"tool": "exec", "arguments": "["}),
            turn(call("update_plan", steps=[{"id": "1", "subject": "s", "status": "done", "blocked_by": "2"}])),
            turn(call("restrict_self", action="exec", reason="enough"), call("exec", command="ls")),
            DONE,
        ],
        {},
    ),
    "a helper": (
        [turn(call("spawn_agent", task="do")), turn(call("exec", command="touch y")), {"text": "y"}, DONE],
        {},
    ),
    "helpers that fail": (
        [turn(call("spawn_agent", task="do")), {"fault": {"status": 500}}, turn(call("spawn_agent", task="x")), DONE],
        {},
    ),
    "the network": (
        [turn(call("fetch_url", url="http://127.0.0.1:9/"), call("fetch_url", url="http://example.org/")), DONE],
        {"network_hosts": ("127.0.0.1:9",)},
    ),
    "no progress": ([turn(call("exec", command="ls"))] * 3, {}),
    "turns": ([SHELL, SHELL], {"limits": Limits(max_turns=1)}),
    "a fault": ([SHELL, {"fault": {"status": 500, "body": "down"}}], {}),
    "a refusal": ([{"text": "no", "stop": "refusal"}], {}),
    "silence": ([{"text": ""}], {}),
}


def plain(outcome: Outcome) -> list[Any]:
    """The events of a log but for times and the session's own id."""
    events = [(each.name, each.raw) for each in read_events(outcome.log)]
    return [json.loads(json.dumps(event).replace(outcome.session, "SESSION")) for event in events]


def same_again(shared: Any, live: Outcome) -> None:
    before = plain(live)
    with shared.replayed(live, task=TASK) as again:
        assert plain(again) == before
        assert again.ending == live.ending
        assert again.cost == live.cost
        assert again.capture.model_copy(update={"session": live.session}) == live.capture


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_session_is_the_same_from_its_capture(shared: Any, kind: str) -> None:
    script, choices = SESSIONS[kind]
    with shared.play(script, task=TASK, **choices) as live:
        assert live.capture.stopped is None
        same_again(shared, live)


def interrupted(shared: Any, script: list[dict[str, Any]], after_s: float = 0.7) -> AbstractContextManager[Outcome]:
    threading.Timer(after_s, signal.raise_signal, [signal.SIGINT]).start()
    return shared.play(script, task=TASK)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("doing", "script"),
    [
        ("a command", [turn(call("exec", command="sleep 30"), call("exec", command="echo no"))]),
        ("a request", [SHELL, {"text": "late", "delay_s": 30}]),
        ("a helper's command", [turn(call("spawn_agent", task="x")), turn(call("exec", command="sleep 30"))]),
        ("a helper's request", [turn(call("spawn_agent", task="x")), {"text": "late", "delay_s": 30}]),
    ],
)
def test_a_session_that_was_interrupted_is_replayed_to_where_it_was(shared: Any, doing: str, script: Any) -> None:
    began = time.monotonic()
    with interrupted(shared, script) as live:
        assert live.ending.reason == "canceled_by_user"
        assert live.capture.stopped is not None
        same_again(shared, live)
        names = [name for name, _ in plain(live)]
        assert names.count("tool.call") == names.count("tool.result")
        assert names.count("session.spawn") == names.count("agent.complete")
        if doing == "a request":
            last = live.capture.exchanges[-1]
            assert isinstance(last, ProviderExchange)
            assert last.response.failed is not None
            assert (last.response.failed.error, last.cost.to_wire()) == ("canceled", {"unknown": True})
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "script",
    [
        [turn(call("exec", command="sleep 30"), call("exec", command="echo no"))],
        [{"text": "late", "delay_s": 30}],
        [turn(call("spawn_agent", task="x")), turn(call("exec", command="sleep 30"))],
        [turn(call("spawn_agent", task="x")), {"text": "late", "delay_s": 30}],
    ],
)
def test_a_session_whose_time_was_up_is_replayed_whatever_the_clock_says(shared: Any, script: Any) -> None:
    world = shared.world()._replace(monotonic=time.monotonic)
    with shared.play(script, task=TASK, limits=Limits(wall_clock_s=0.6), world=world) as live:
        assert live.ending.reason == "budget_reached"
        assert live.ending.detail == "0.6 s are used up"
        same_again(shared, live)


def test_a_shortened_capture_of_a_session_that_was_stopped_is_refused(shared: Any) -> None:
    with interrupted(shared, [SHELL, {"text": "late", "delay_s": 30}]) as live:
        whole = live.capture
    assert whole.stopped is not None
    for change, refusal in [
        ({"exchanges": whole.exchanges[:-1]}, "truncated"),
        ({"exchanges": whole.exchanges[:1]}, "truncated"),
        ({"stopped": whole.stopped.model_copy(update={"after": 1})}, "unused"),
        ({"stopped": whole.stopped.model_copy(update={"after": 9})}, "truncated"),
        ({"stopped": None}, "truncated"),
    ]:
        with pytest.raises(ReplayError) as caught:
            check_order(whole.model_copy(update=change), "capture")
        assert caught.value.refusal == refusal, change
    check_order(whole, "capture")
