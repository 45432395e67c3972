"""Captures that were forged and signed again: what no session can have recorded is refused, and leaves nothing."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.errors import ReplayError
from pipeline.records.audit_names import EndReason
from pipeline.records.capture import Capture, HostUse, Stopped, ToolExchange
from pipeline.session.replay import replay_session


@pytest.fixture(scope="module")
def capture(shared: Any, turns: Any) -> Capture:
    with shared.play(turns()) as outcome:
        return outcome.capture  # type: ignore[no-any-return]


def with_effect(capture: Capture, tool: str, event: dict[str, Any]) -> Capture:
    """The capture with one more effect of the first call of a tool."""
    place, found = next(
        (place, each)
        for place, each in enumerate(capture.exchanges)
        if isinstance(each, ToolExchange) and each.tool == tool
    )
    changed = found.model_copy(update={"events": (*found.events, event)})
    exchanges = (*capture.exchanges[:place], changed, *capture.exchanges[place + 1 :])
    return capture.model_copy(update={"exchanges": exchanges})


def refused(shared: Any, capture: Capture) -> tuple[str, str]:
    before = shared.store.list("sessions")
    replay = replay_session(capture, "Mend the sum.", shared.fixture, shared.store, shared.world())
    with pytest.raises(ReplayError) as caught, replay:
        pass
    assert shared.store.list("sessions") == before
    return caught.value.refusal, str(caught.value)


@pytest.mark.parametrize(
    ("tool", "event", "told"),
    [
        ("exec", {"session.end": {"reason": "finished", "detail": ""}}, "exec has no effect 'session.end'"),
        ("exec", {"usage": {"cost": {"free": True}}}, "exec has no effect 'usage'"),
        ("update_plan", {"policy.self": {"restrictions": []}}, "update_plan has no effect 'policy.self'"),
        ("update_plan", {"tomorrow.event": {}}, "update_plan has no effect 'tomorrow.event'"),
        ("update_plan", {"plan.update": 5}, "the effect 'plan.update' is not of its form"),
        ("update_plan", {"plan.update": {"steps": "no"}}, "the effect 'plan.update' is not of its form"),
    ],
)
def test_effects_that_a_tool_cannot_have_are_refused(
    shared: Any, capture: Capture, tool: str, event: dict[str, Any], told: str
) -> None:
    refusal, message = refused(shared, with_effect(capture, tool, event))
    assert (refusal, told in message) == ("diverged", True), message


@pytest.mark.parametrize(
    ("change", "refusal", "told"),
    [
        ({"sandbox_driver": "banana"}, "diverged", "there is no driver 'banana'"),
        ({"exchanges": ()}, "exhausted", "once more than was recorded"),
    ],
)
def test_what_this_version_does_not_have_is_refused(
    shared: Any, capture: Capture, change: dict[str, Any], refusal: str, told: str
) -> None:
    found, message = refused(shared, capture.model_copy(update=change))
    assert (found, told in message) == (refusal, True), message


def test_tools_that_are_not_there_are_refused(shared: Any, capture: Capture) -> None:
    config = capture.config.model_copy(update={"tools": ("exec", "nope")})
    refusal, message = refused(shared, capture.model_copy(update={"config": config}))
    assert refusal == "diverged"
    assert "this version has no tool 'nope'" in message


@pytest.mark.parametrize("commit", ["--help", "", "nowhere", "a\0b"])
def test_a_base_that_is_no_commit_is_refused(shared: Any, capture: Capture, commit: str) -> None:
    workspace = capture.workspace.model_copy(update={"base_commit": commit})
    assert refused(shared, capture.model_copy(update={"workspace": workspace}))[0] == "workspace"


def test_a_stop_that_the_session_does_not_come_to_is_refused(shared: Any, capture: Capture) -> None:
    stopped = Stopped(after=len(capture.exchanges), reason=EndReason.CANCELED_BY_USER, detail="")
    refusal, message = refused(shared, capture.model_copy(update={"stopped": stopped}))
    assert refusal == "unused"
    assert "ended by itself as finished" in message


@pytest.mark.parametrize("reason", ["finished", "turn_limit", "no_progress", "handed_over"])
def test_only_a_clock_a_person_or_a_defect_stops_a_session_from_outside(reason: str) -> None:
    with pytest.raises(ValidationError):
        Stopped.model_validate({"after": 0, "reason": reason, "detail": ""})


def test_counts_are_such_as_every_reader_of_json_has_exactly() -> None:
    with pytest.raises(ValidationError):
        HostUse(host="a", granted=2**53, refused=0)
