"""Events of audit logs as models: every known one, what is not known in them, and the order they are written in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.records.audit_content import FreeCost, KnownCost, Money, TextPart, UnknownCost
from pipeline.records.audit_event import HEADER, PAYLOADS, AuditEvent
from pipeline.records.audit_names import APPROVALS, AgentOutcome, Ceiling, Decision, EndReason, Verdict
from pipeline.records.audit_session import NetworkConnection, SessionConfig, SessionImported, SessionStart
from pipeline.records.audit_turn import Message, ToolResult, Usage
from pipeline.records.audit_verdict import ChainVerdict

# Each field that is written, in order; those with `?` may be absent when they are read.
FIELDS = {
    "session.start": "agent_kind model_alias parent_session spawn_chain?",
    "session.config": "config_hash sandbox_hash? instructions? policy_rules? dev_shell? allow_dirty? sandbox_driver?",
    "session.end": "reason detail",
    "session.spawn": "child_session child_agent_kind reason budget_max_cost? budget_currency?",
    "session.title": "title",
    "session.imported": "from source_path content_hash imported_ms source_started_ms? source_ended_ms? messages?",
    "message": "role content model_alias?",
    "tool.call": "call_id tool arguments",
    "tool.result": "call_id output is_error truncated note? image?",
    "approval.request": "action summary detail reason agent_kind spawn_chain timeout_at_ms tool_call_id review? "
    "review_note? source?",
    "approval.response": "request_id decision responder action? tool_call_id? review? review_note?",
    "prompt.password": "correlation_id prompt",
    "diff": "path patch change_set_id review review_note",
    "compaction": "summary from_id through_id kept_ranges model_alias stand_in_reason?",
    "usage": "input_tokens? output_tokens? cache_creation_input_tokens? cache_read_input_tokens? cost? "
    "price_table_version? model? model_alias? request_id? inference_ms? reasoning_effort_applied?",
    "task.complete": "task_id command status code output_path output_bytes truncated",
    "agent.complete": "child_session child_agent_kind outcome result scratchpad_path",
    "plan.update": "steps",
    "policy.self": "restrictions authorised?",
    "workspace.open": "kind attempt path base_commit",
    "workspace.integrate": "ref mode decision branch branch_from branch_to parked",
    "workspace.adopt": "attempt path files? deleted? skipped?",
    "sandbox.open": "attempt write_execute decision",
    "sandbox.supervisor": "process layer fail_mode? confined? unconfined? unreported? reason?",
    "sandbox.syscalls": "mechanism observed? unobserved? calls? paths_verified? path_readers_unreported? "
    "path_readers_absent?",
    "device.exposed": "attempt action decision enforced?",
    "network.summary": "granted? refused? diagnostic?",
    "network.connection": "host granted? refused?",
}

WHOLE: dict[str, dict[str, Any]] = {
    "session.start": {"agent_kind": "main", "model_alias": "m", "parent_session": "",
                      "spawn_chain": [{"agent_kind": "a", "reason": "r"}]},
    "session.config": {"config_hash": "c", "sandbox_hash": "s", "instructions": ["i"], "policy_rules": ["a=deny"],
                       "dev_shell": True, "allow_dirty": True, "sandbox_driver": "native"},
    "session.end": {"reason": "finished", "detail": "d"},
    "session.spawn": {"child_session": "c", "child_agent_kind": "k", "reason": "r", "budget_max_cost": 0.5,
                      "budget_currency": "USD"},
    "session.title": {"title": "t"},
    "session.imported": {"from": "f", "source_path": "p", "content_hash": "h", "imported_ms": 1,
                         "source_started_ms": 2, "source_ended_ms": 3, "messages": 4},
    "message": {"role": "user", "content": [
        {"text": "a"}, {"reasoning": {"text": "t", "signature": "s"}},
        {"tool_use": {"call_id": "1", "tool": "t", "arguments": "{}"}},
        {"tool_result": {"call_id": "1", "output": "o", "is_error": False}},
        {"image": {"call_id": "1", "media_type": "image/png", "data": "AA=="}}, {"smell": {"of": "rain"}},
    ], "model_alias": "m"},
    "tool.call": {"call_id": "1", "tool": "t", "arguments": "{}"},
    "tool.result": {"call_id": "1", "output": "o", "is_error": True, "truncated": True, "note": "n",
                    "image": {"media_type": "image/png", "byte_count": 3, "content_hash": "h"}},
    "approval.request": {"action": "a", "summary": "s", "detail": "d", "reason": "r", "agent_kind": "k",
                         "spawn_chain": [], "timeout_at_ms": 1, "tool_call_id": "1", "review": "none",
                         "review_note": "", "source": ""},
    "approval.response": {"request_id": 5, "decision": "expired", "responder": "", "action": "a", "tool_call_id": "1",
                          "review": "rejected", "review_note": "n"},
    "prompt.password": {"correlation_id": "1", "prompt": "p"},
    "diff": {"path": "p", "patch": "+", "change_set_id": "1", "review": "none", "review_note": ""},
    "compaction": {"summary": "s", "from_id": 16, "through_id": 99, "kept_ranges": [{"from_id": 20, "through_id": 30}],
                   "model_alias": "m", "stand_in_reason": "r"},
    "usage": {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4,
              "cost": {"known": {"value": 0.5, "currency": "USD"}}, "price_table_version": "v", "model": "m",
              "model_alias": "a", "request_id": "r", "inference_ms": 5, "reasoning_effort_applied": "low"},
    "task.complete": {"task_id": "1", "command": "c", "status": "exited", "code": 0, "output_path": "p",
                      "output_bytes": 1, "truncated": False},
    "agent.complete": {"child_session": "c", "child_agent_kind": "k", "outcome": "died", "result": "",
                       "scratchpad_path": ""},
    "plan.update": {"steps": [{"id": "1", "subject": "s", "status": "done", "blocked_by": ""}]},
    "policy.self": {"restrictions": [{"action": "a", "ceiling": "ask", "reason": "r"}], "authorised": True},
    "workspace.open": {"kind": "worktree", "attempt": "a", "path": "p", "base_commit": "b"},
    "workspace.integrate": {"ref": "r", "mode": "m", "decision": "d", "branch": "b", "branch_from": "f",
                            "branch_to": "t", "parked": False},
    "workspace.adopt": {"attempt": "a", "path": "p", "files": 1, "deleted": 2, "skipped": 3},
    "sandbox.open": {"attempt": "a", "write_execute": "strict", "decision": "ask"},
    "sandbox.supervisor": {"process": "p", "layer": "l", "fail_mode": "f", "confined": 1, "unconfined": 2,
                           "unreported": 3, "reason": "r"},
    "sandbox.syscalls": {"mechanism": "m", "observed": 1, "unobserved": 2,
                         "calls": [{"name": "open", "count": 3, "unverified_paths": None}], "paths_verified": True,
                         "path_readers_unreported": 4, "path_readers_absent": 5},
    "device.exposed": {"attempt": "a", "action": "b", "decision": "c", "enforced": True},
    "network.summary": {"granted": 1, "refused": 2, "diagnostic": "d"},
    "network.connection": {"host": "h", "granted": 1, "refused": 2},
}  # fmt: skip


def test_the_known_events_are_those_of_the_format_and_our_own() -> None:
    assert set(PAYLOADS) == set(FIELDS) == set(WHOLE)
    assert len(FIELDS) == 28


@pytest.mark.parametrize("name", FIELDS)
def test_fields_stand_in_their_order_and_have_their_defaults(name: str) -> None:
    fields = PAYLOADS[name].model_fields.items()
    told = " ".join((info.alias or field) + ("" if info.is_required() else "?") for field, info in fields)
    assert told == FIELDS[name]


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_payload_is_written_as_it_was_read(name: str) -> None:
    assert list(WHOLE[name]) == FIELDS[name].replace("?", "").split()
    assert json.dumps(PAYLOADS[name].from_wire(WHOLE[name]).to_wire()) == json.dumps(WHOLE[name])


@pytest.mark.parametrize("name", WHOLE)
def test_members_that_are_not_known_are_kept_behind_the_known_ones(name: str) -> None:
    strange = {"zeal": [1, {"b": None}], **dict(reversed(WHOLE[name].items())), "alto": "x"}
    written = PAYLOADS[name].from_wire(strange).to_wire()
    assert json.dumps(written) == json.dumps({**WHOLE[name], "zeal": [1, {"b": None}], "alto": "x"})


@pytest.mark.parametrize("name", WHOLE)
def test_a_payload_is_frozen(name: str) -> None:
    payload = PAYLOADS[name].from_wire(WHOLE[name])
    with pytest.raises(ValidationError, match="frozen"):
        setattr(payload, next(iter(type(payload).model_fields)), "other")


def test_members_that_are_not_known_are_kept_inside_too() -> None:
    value = {"role": "user", "content": [{"tool_use": {"call_id": "1", "tool": "t", "arguments": "", "x": 1}}]}
    assert Message.from_wire(value).to_wire() == {
        "role": "user",
        "content": ({"tool_use": {"call_id": "1", "tool": "t", "arguments": "", "x": 1}},),
        "model_alias": "",
    }


def test_what_is_only_written_where_it_is_set_stays_away() -> None:
    assert SessionConfig(config_hash=None).to_wire() == {"config_hash": None}
    imported = {"from": "a", "source_path": "", "content_hash": "", "imported_ms": 1}
    assert SessionImported.from_wire(imported).to_wire() == imported


def test_defaults_are_written() -> None:
    assert Usage().to_wire()["cost"] == {"unknown": True}
    assert NetworkConnection(host="a").to_wire() == {"host": "a", "granted": 0, "refused": 0}
    assert ToolResult(call_id="1", output="", is_error=False, truncated=False).to_wire()["image"] is None
    assert SessionStart(agent_kind="a", model_alias="", parent_session="").to_wire()["spawn_chain"] == ()


@pytest.mark.parametrize(
    "cost, kind",
    [
        ({"known": {"value": 1, "currency": "USD"}}, KnownCost),
        ({"free": True}, FreeCost),
        ({"unknown": True}, UnknownCost),
        ({"barter": "hens"}, dict),
    ],
)
def test_a_cost_is_what_its_member_says(cost: dict[str, Any], kind: type) -> None:
    usage = Usage.from_wire({"cost": cost})
    assert type(usage.cost) is kind
    assert usage.to_wire()["cost"] == cost


def test_a_number_stays_as_it_was_written() -> None:
    for value in (1, 1.0, 0, 0.25):
        cost = {"known": {"value": value, "currency": "USD"}}
        assert repr(Usage.from_wire({"cost": cost}).to_wire()["cost"]["known"]["value"]) == repr(value)


def test_a_model_can_be_made_of_models() -> None:
    usage = Usage(cost=KnownCost(known=Money(value=0.5, currency="USD")))
    assert Usage.from_wire(usage.to_wire()) == usage
    message = Message(role="user", content=(TextPart(text="a"),))
    assert Message.from_wire(json.loads(json.dumps(message.to_wire()))) == message


@pytest.mark.parametrize(
    "name, field", [("session.end", "reason"), ("message", "role"), ("agent.complete", "outcome"),
                    ("approval.response", "decision"), ("task.complete", "status"), ("sandbox.open", "decision")]
)  # fmt: skip
def test_a_spelling_that_is_not_known_is_kept(name: str, field: str) -> None:
    payload = PAYLOADS[name].from_wire({**WHOLE[name], field: "Never Heard Of"})
    assert payload.to_wire()[field] == "Never Heard Of"


def test_known_names_are_those_of_the_format() -> None:
    assert len(EndReason) == 10
    assert len(Decision) == 9
    assert len(APPROVALS) == 4
    assert len(AgentOutcome) == 6
    assert [each.value for each in Ceiling] == ["deny", "agent_then_human", "ask", "agent_review", "allow"]
    assert len(Verdict) == 8


def test_the_header_has_16_bytes() -> None:
    assert len(HEADER) == 16


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(WHOLE)), st.dictionaries(st.text(min_size=1), JSON, max_size=4))
def test_any_unknown_member_goes_through(name: str, extra: dict[str, Any]) -> None:
    known = WHOLE[name]
    strange = {key: value for key, value in extra.items() if key not in known}
    written = PAYLOADS[name].from_wire({**strange, **known}).to_wire()
    assert json.dumps(written) == json.dumps({**known, **strange})


@given(st.text(), JSON)
def test_an_event_of_an_unknown_name_is_kept_raw(name: str, raw: Any) -> None:
    if name not in PAYLOADS:
        event = AuditEvent(0, "s", 1, name, raw)
        assert event.payload == raw
        assert event.envelope()["event"] == {name: raw}


@pytest.mark.parametrize(
    "verdict, n_events, is_evidence",
    [("intact", 1, True), ("intact", 0, False), ("unchained", 5, False), ("partly_chained", 5, False),
     ("broken", 5, False), ("torn", 5, False), ("undecodable", 5, False), ("unreadable", None, False),
     ("bad_header", None, False)],
)  # fmt: skip
def test_only_intact_with_events_is_evidence(verdict: str, n_events: int | None, is_evidence: bool) -> None:
    found = ChainVerdict(
        verdict=Verdict(verdict), at=None, after=None, events=n_events, chained=None, sha256=None, bytes=None
    )
    assert found.is_evidence is is_evidence
