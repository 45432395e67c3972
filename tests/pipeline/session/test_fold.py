"""The facts of a session, folded from the events of its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_making import SESSION, VECTORS, chained, line_of, log_of

from pipeline.records.audit_event import AuditEvent
from pipeline.records.audit_names import APPROVALS, Decision
from pipeline.session.audit_log import read_events
from pipeline.session.facts import Child, SessionFacts
from pipeline.session.fold import examine_log, fold_events


def facts_of(*events: tuple[str, Any], session: str = SESSION) -> SessionFacts:
    made = [AuditEvent(16 + 100 * number, session, 1, name, raw) for number, (name, raw) in enumerate(events)]
    for event in made:
        _ = event.payload  # raises where the payload is not as its model says
    return fold_events(made)


def message(role: str) -> tuple[str, Any]:
    return "message", {"role": role, "content": [], "model_alias": ""}


def usage(cost: Any = None) -> tuple[str, Any]:
    return "usage", {} if cost is None else {"cost": cost}


def known(value: float, currency: str = "USD") -> tuple[str, Any]:
    return usage({"known": {"value": value, "currency": currency}})


def response(decision: str, action: str = "call.sh", request_id: int = 0) -> tuple[str, Any]:
    return "approval.response", {"request_id": request_id, "decision": decision, "responder": "", "action": action}


def request(action: str) -> tuple[str, Any]:
    text = dict.fromkeys(("summary", "detail", "reason", "agent_kind", "tool_call_id"), "")
    return "approval.request", {"action": action, **text, "spawn_chain": [], "timeout_at_ms": 0}


def spawn(child: str) -> tuple[str, Any]:
    return "session.spawn", {"child_session": child, "child_agent_kind": "helper", "reason": ""}


def complete(child: str, outcome: str = "finished") -> tuple[str, Any]:
    return "agent.complete", {
        "child_session": child, "child_agent_kind": "helper", "outcome": outcome, "result": "", "scratchpad_path": "",
    }  # fmt: skip


def call(tool: str, arguments: str = "{}") -> tuple[str, Any]:
    return "tool.call", {"call_id": "1", "tool": tool, "arguments": arguments}


def config(**members: Any) -> tuple[str, Any]:
    return "session.config", {"config_hash": None, **members}


def end(reason: str) -> tuple[str, Any]:
    return "session.end", {"reason": reason, "detail": ""}


def test_the_facts_of_a_whole_session() -> None:
    facts = fold_events(read_events(VECTORS / "intact.jsonl"))
    assert (facts.session, facts.turns, facts.end_reason, facts.is_open) == (SESSION, 2, "finished", False)
    assert facts.events["message"] == 4
    assert facts.tools == {"read_file": 1}
    assert (facts.requests, facts.free_turns, facts.unpriced_turns, facts.spend) == (2, 2, 0, {})
    assert (facts.config_hash, facts.sandbox_hash, facts.sandbox_driver) == (None, "ab" * 32, None)
    assert facts.base_commit == "9f2c1ab4d5e6f70819202122232425262728292a"
    assert (facts.refusals, facts.hosts, facts.children, facts.foreign_events) == ((), (), (), 0)


def test_a_log_without_events_says_nothing() -> None:
    facts = facts_of()
    assert (facts.session, facts.end_reason, facts.base_commit, facts.config_hash) == (None, None, None, None)
    assert (facts.turns, facts.spend, facts.events) == (0, {}, {})


def test_a_turn_is_a_message_of_the_assistant() -> None:
    roles = ["user", "assistant", "tool", "assistant", "system", "narrator"]
    assert facts_of(*(message(role) for role in roles), usage(), usage(), usage()).turns == 2


def test_known_costs_are_added_up_by_currency_as_decimals() -> None:
    facts = facts_of(known(0.1), known(0.2), known(1, "EUR"), known(0.5, "EUR"))
    assert facts.spend == {"USD": 0.3, "EUR": 1.5}
    assert (facts.priced_turns, facts.unpriced_turns) == (4, 0)


@pytest.mark.parametrize(
    "cost",
    [
        None,
        {"unknown": True},
        {"unknown": False},
        {"free": False},
        {"barter": "two hens"},
        {"known": {"value": -5.0, "currency": "USD"}},
        {"known": {"value": 5.0, "currency": ""}},
    ],
)
def test_a_price_that_is_not_known_is_never_zero(cost: Any) -> None:
    facts = facts_of(known(1.0), usage(cost))
    assert (facts.requests, facts.priced_turns, facts.free_turns, facts.unpriced_turns) == (2, 1, 0, 1)
    assert facts.spend == {"USD": 1.0}


def test_free_turns_are_counted_apart_and_spend_nothing() -> None:
    facts = facts_of(usage({"free": True}), known(0.0))
    assert (facts.free_turns, facts.priced_turns, facts.unpriced_turns) == (1, 1, 0)
    assert facts.spend == {"USD": 0.0}


def test_costs_beyond_a_double_stay_numbers() -> None:
    assert facts_of(known(1.7e308), known(1.7e308)).spend["USD"] > 1.7e308


@pytest.mark.parametrize("decision", [*Decision, "waved_through", "", "Allowed_By_Policy", "approved"])
def test_any_decision_that_is_not_an_approval_is_a_refusal(decision: str) -> None:
    facts = facts_of(response(decision))
    assert facts.n_refusals == len(facts.refusals) == (decision not in APPROVALS)


def test_the_refusals_are_the_five_of_the_format() -> None:
    refusals = {"denied_by_policy", "refused_by_user", "expired", "refused_by_review", "review_unavailable"}
    assert set(Decision) - APPROVALS == refusals


def test_a_refusal_is_told_with_its_action_and_place() -> None:
    facts = facts_of(request("exec.rm"), response("expired", action="", request_id=16))
    assert facts.refusals[0].model_dump() == {"at": 116, "action": "exec.rm", "decision": "expired"}
    assert facts.unanswered_requests == 0


def test_many_refusals_are_all_counted_and_the_first_kept() -> None:
    facts = facts_of(*[response("expired")] * 250)
    assert (facts.n_refusals, len(facts.refusals)) == (250, 100)


def test_a_request_that_nobody_answered_is_counted() -> None:
    assert facts_of(request("exec.rm"), request("exec.mv"), response("expired", "", 16)).unanswered_requests == 1


def test_a_failed_tool_is_no_refusal() -> None:
    result = {"call_id": "1", "output": "", "is_error": True, "truncated": False}
    assert facts_of(call("sh"), ("tool.result", result)).n_refusals == 0


def test_each_child_is_paired_with_its_end() -> None:
    facts = facts_of(spawn("a"), spawn("b"), spawn("c"), complete("b", "died"), complete("a"))
    assert facts.children == (
        Child(session="a", agent_kind="helper", outcome="finished"),
        Child(session="b", agent_kind="helper", outcome="died"),
        Child(session="c", agent_kind="helper", outcome=None),
    )
    assert (facts.lost_children, facts.stray_completions) == (1, 0)


def test_a_child_that_was_started_twice_must_end_twice() -> None:
    facts = facts_of(spawn("a"), complete("a", "rate_limited"), spawn("a"))
    assert [child.outcome for child in facts.children] == ["rate_limited", None]


def test_an_end_after_the_sessions_own_counts_and_one_of_nobody_is_told() -> None:
    facts = facts_of(spawn("a"), end("finished"), complete("a"), complete("b"), complete("a"))
    assert (facts.lost_children, facts.stray_completions) == (0, 2)


def test_the_last_end_stands() -> None:
    facts = facts_of(config(), end("rate_limited"), config(), end("finished"), ("network.summary", {}))
    assert (facts.end_reason, facts.ends, facts.runs, facts.is_open) == ("finished", 2, 2, False)


def test_a_run_that_has_no_end_is_seen_behind_the_end_of_another() -> None:
    facts = facts_of(config(), end("finished"), config(), message("assistant"))
    assert (facts.end_reason, facts.is_open) == ("finished", True)


def test_an_end_that_is_not_known_is_kept_as_it_is() -> None:
    assert facts_of(end("bored")).end_reason == "bored"


def test_what_each_run_was_under_is_kept_once_and_the_last_stands() -> None:
    facts = facts_of(
        config(config_hash="a", sandbox_hash="s", sandbox_driver="native"),
        config(config_hash="b", sandbox_driver="native"),
        config(config_hash="a", sandbox_driver="none"),
    )
    assert (facts.config_hashes, facts.config_hash) == (("b", "a"), "a")
    assert (facts.sandbox_hashes, facts.sandbox_hash) == (("s", None), None)
    assert (facts.sandbox_drivers, facts.sandbox_driver) == (("native", "none"), "none")


def test_the_workspace_names_the_commit_and_is_empty_without_git() -> None:
    opened = {"kind": "overlay", "attempt": "", "path": ""}
    assert facts_of(("workspace.open", {**opened, "base_commit": ""})).base_commit == ""
    facts = facts_of(*(("workspace.open", {**opened, "base_commit": each}) for each in "ab"))
    assert (facts.base_commits, facts.base_commit) == (("a", "b"), "b")


def test_tools_are_counted_by_their_calls_alone() -> None:
    asked = {"role": "assistant", "content": [{"tool_use": {"call_id": "1", "tool": "sh", "arguments": ""}}]}
    assert facts_of(call("sh"), call("sh"), call("browser"), ("message", asked)).tools == {"sh": 2, "browser": 1}


def test_hosts_come_from_actions_fetches_and_connections() -> None:
    facts = facts_of(
        request("net.connect.com.asked"),
        response("allowed_by_policy", "net.fetch.org.ziglang.docs"),
        response("approved_by_user", "nix.net.org.nixos.cache"),
        call("fetch_url", '{"url":"https://Fetched.com/"}'),
        call("other_tool", '{"url":"https://not-fetched.com/"}'),
        ("network.connection", {"host": "Reached.Example.", "granted": 3}),
        response("allowed_by_policy", "call.sh"),
    )
    assert facts.hosts == ("asked.com", "cache.nixos.org", "docs.ziglang.org", "fetched.com", "reached.example")
    assert (facts.refused_hosts, facts.unnamed_network_uses) == ((), 0)


def test_a_host_that_was_only_refused_is_told_apart() -> None:
    facts = facts_of(
        response("denied_by_policy", "net.connect.com.refused"),
        response("denied_by_policy", "net.connect.com.both"),
        response("approved_by_user", "net.connect.com.both"),
        ("network.connection", {"host": "never.com", "refused": 2}),
        request("net.connect.com.expired"),
        response("expired", "", 416),
    )
    assert facts.hosts == ("both.com", "expired.com", "never.com", "refused.com")
    assert facts.refused_hosts == ("expired.com", "never.com", "refused.com")


def test_use_of_the_network_that_names_no_host_is_counted() -> None:
    facts = facts_of(
        call("fetch_url", "{}"), request("net.connect"), ("network.connection", {"host": "", "granted": 1})
    )
    assert facts.hosts == ()
    assert facts.unnamed_network_uses >= 3


def test_connections_of_all_runs_are_added_up() -> None:
    facts = facts_of(
        ("network.summary", {"granted": 2, "refused": 1}),
        ("network.summary", {"granted": -9}),
        ("network.summary", {"granted": 1}),
    )
    assert (facts.connections_granted, facts.connections_refused) == (3, 1)


def test_events_of_another_session_are_counted_and_change_nothing_else() -> None:
    own = [AuditEvent(16, "own", 1, *config()), AuditEvent(99, "own", 1, *end("errored"))]
    foreign = [AuditEvent(200, "other", 1, *end("finished")), AuditEvent(300, "other", 1, *message("assistant"))]
    facts = fold_events([*own, *foreign])
    assert facts.foreign_events == 2
    assert facts == fold_events(own).model_copy(update={"foreign_events": 2})


def test_events_that_are_not_known_are_counted_by_name() -> None:
    assert facts_of(("weather.report", [1]), ("weather.report", None)).events == {"weather.report": 2}


def test_a_log_is_verified_and_folded_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_of(chained([message("assistant"), end("finished")]), b"torn"))
    verdict, facts = examine_log(path)
    assert (verdict.verdict, verdict.events) == ("torn", 2)
    assert facts == fold_events(read_events(path))


def test_facts_go_as_far_as_the_log_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_of([*chained([message("assistant"), message("assistant")])[1:], b"oops"]))
    verdict, facts = examine_log(path)
    assert verdict.verdict == "broken"
    assert facts is not None
    assert facts.turns == 1


@pytest.mark.parametrize("data", [None, b"", b"no log\n", log_of([])])
def test_where_no_event_is_reached_there_are_no_facts(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "log.jsonl"
    if data is not None:
        path.write_bytes(data)
    assert examine_log(path).facts is None


def test_hostile_values_of_known_events_are_folded(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    large = 2**64 - 1
    events = [
        response("expired", "net.fetch." + "." * 1000, large),
        call("fetch_url", "[" * 10_000),
        ("network.summary", {"granted": large}),
        ("network.summary", {"granted": large}),
        usage({"known": {"value": large, "currency": "\x00"}}),
        ("session.title", {"title": "a", "model_config": 1, "__class__": {}, "raw": 2**70}),
    ]
    path.write_bytes(log_of(chained(events)))
    verdict, facts = examine_log(path)
    assert verdict.verdict == "intact"
    assert facts is not None
    assert facts.connections_granted == 2 * large
    assert facts.model_dump_json()


EVENTS = st.sampled_from(
    [
        message("assistant"), message("user"), known(0.1), usage(), usage({"free": True}), spawn("a"), complete("a"),
        call("sh"), call("fetch_url", '{"url":"https://a.com"}'), response("expired"), request("net.connect.com.b"),
        config(sandbox_driver="native"), end("finished"), ("network.summary", {"granted": 1}), ("own.event", None),
    ]
)  # fmt: skip


@given(st.lists(EVENTS, max_size=25))
def test_sums_are_those_of_the_events(events: list[tuple[str, Any]]) -> None:
    facts = facts_of(*events)
    names = [name for name, _ in events]
    assert facts.events == {name: names.count(name) for name in names}
    assert facts.priced_turns + facts.free_turns + facts.unpriced_turns == facts.requests == names.count("usage")
    assert facts.spend.get("USD", 0.0) == pytest.approx(0.1 * facts.priced_turns)
    assert sum(facts.tools.values()) == names.count("tool.call")
    assert len(facts.children) == names.count("session.spawn")
    n_paired = len(facts.children) - facts.lost_children
    assert n_paired + facts.stray_completions == names.count("agent.complete")
    assert set(facts.refused_hosts) <= set(facts.hosts)


def test_a_line_of_the_quick_way_and_one_of_the_long_way_fold_alike(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    name, payload = known(0.25)
    usual = line_of(name, payload)
    path.write_bytes(log_of([usual, usual.replace(b":", b": ")]))
    facts = examine_log(path).facts
    assert facts is not None
    assert facts.spend == {"USD": 0.5}
