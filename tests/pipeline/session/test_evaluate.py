"""The evaluator: every check passes, fails, and says when there is no evidence. Logs come from the real writer."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.records.audit_content import FreeCost, KnownCost, Money, TextPart, UnknownCost
from pipeline.records.audit_session import (
    AgentComplete,
    NetworkConnection,
    NetworkSummary,
    SandboxOpen,
    SessionConfig,
    SessionEnd,
    SessionSpawn,
    SessionStart,
    WorkspaceOpen,
)
from pipeline.records.audit_turn import ApprovalRequest, ApprovalResponse, Message, ToolCall, ToolResult, Usage
from pipeline.records.audit_wire import Payload
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.report import Finding, Report, load_report
from pipeline.session.evaluate import evaluate, is_audit_gap
from pipeline.session.evidence import CommandResult, LogEvidence, PathKind, PathState, TreeEvidence
from pipeline.session.fold import examine_log
from pipeline.session.log_writer import AuditLogWriter

SESSION = "01J0000000ABCDEFGHJKMNPQRS"
CONFIG, SANDBOX, COMMIT = "c" * 64, "5" * 64, "b" * 40
TREE = TreeEvidence("fixture", base_commit=COMMIT, known_commits=frozenset({COMMIT}))


def spawn(child: str) -> SessionSpawn:
    return SessionSpawn(child_session=child, child_agent_kind="helper", reason="look")


def complete(child: str, outcome: str = "finished") -> AgentComplete:
    return AgentComplete(
        child_session=child, child_agent_kind="helper", outcome=outcome, result="done", scratchpad_path=""
    )


def call(tool: str, **arguments: str) -> ToolCall:
    return ToolCall(call_id="1", tool=tool, arguments=json.dumps(arguments))


def decision(word: str, action: str = "call.shell") -> ApprovalResponse:
    return ApprovalResponse(request_id=0, decision=word, responder="", action=action)


def request(action: str) -> ApprovalRequest:
    return ApprovalRequest(
        action=action, summary="", detail="", reason="", agent_kind="main", spawn_chain=(), timeout_at_ms=0,
        tool_call_id="1",
    )  # fmt: skip


FREE = FreeCost(free=True)


def turn(cost: Any = FREE) -> list[Payload]:
    return [Usage(cost=cost), Message(role="assistant", content=(TextPart(text="done"),))]


def dollars(value: float, currency: str = "USD") -> KnownCost:
    return KnownCost(known=Money(value=value, currency=currency))


def opened(commit: str = COMMIT) -> WorkspaceOpen:
    return WorkspaceOpen(kind="worktree", attempt="1", path="/w", base_commit=commit)


def configured(**fields: Any) -> SessionConfig:
    known = {"config_hash": CONFIG, "sandbox_hash": SANDBOX, "sandbox_driver": "native"}
    return SessionConfig(**{**known, **fields})


def session(
    *middle: Payload,
    opening: tuple[Payload, ...] = (opened(),),
    config: tuple[Payload, ...] = (configured(),),
    end: tuple[Payload, ...] = (SessionEnd(reason="finished", detail=""),),
    network: tuple[Payload, ...] = (NetworkSummary(),),
) -> list[Payload]:
    """The events of one run in their order, with what a test is about in the middle."""
    return [
        *opening,
        SandboxOpen(attempt="1", write_execute="strict", decision="allow"),
        Message(role="user", content=(TextPart(text="Make it so."),)),
        SessionStart(agent_kind="main", model_alias="local", parent_session=""),
        *config,
        *middle,
        *end,
        *network,
    ]


@pytest.fixture
def logged(tmp_path: Path) -> Callable[..., LogEvidence]:
    """Write a log, let a test damage it, verify and fold it."""

    def write(events: list[Payload], damage: Callable[[bytes], bytes] = bytes) -> LogEvidence:
        path = tmp_path / "log.jsonl"
        clock = itertools.count(1_760_000_000_000)
        with AuditLogWriter(path, SESSION, lambda: next(clock)) as log:
            for event in events:
                log.append(event)
        path.write_bytes(damage(path.read_bytes()))
        return LogEvidence(*examine_log(path))

    return write


def spec_of(**fields: Any) -> EvalSpec:
    base = {"schema": "chock.eval", "version": 1, "name": "parser", "task": "Mend it.", "fixture": "fixture"}
    return EvalSpec.model_validate({**base, **fields})


def judge(spec: EvalSpec, log: LogEvidence, tree: TreeEvidence = TREE, **options: Any) -> Report:
    options = {"commands": None, "session": None, **options}
    commands = options.pop("commands")
    return evaluate(spec, log, tree, commands, spec_sha256="a" * 64, version="0.1.0", **options)


def found(report: Report, name: str) -> Finding:
    (finding,) = [each for each in report.findings if each.name == name]
    return finding


FAILS = "fails"
UNKNOWN = "there is no evidence"
PASSES = "passes"

CHECKS: list[tuple[str, str, dict[str, Any], str, list[Payload]]] = [
    ("session.end_reason", "model", {"end_reason": "finished"}, PASSES, session()),
    ("session.end_reason", "model", {"end_reason": "finished"}, FAILS,
     session(end=(SessionEnd(reason="turn_limit", detail=""),))),
    ("session.end_reason", "harness", {"end_reason": "finished"}, UNKNOWN, session(end=())),
    ("session.end_reason", "harness", {"end_reason": "finished"}, UNKNOWN, [*session(), configured()]),
    *(
        ("session.end_reason", "harness", {"end_reason": "finished"}, FAILS,
         session(end=(SessionEnd(reason=reason, detail=""),)))
        for reason in ("errored", "rate_limited", "canceled_by_user", "handed_over")
    ),
    ("session.end_reason", "model", {"end_reason": "errored"}, PASSES,
     session(end=(SessionEnd(reason="errored", detail=""),))),
    ("session.required_event:diff", "harness", {"required_events": ["diff"]}, FAILS, session(end=())),
    ("session.forbidden_event:usage", "harness", {"forbidden_events": ["usage"]}, FAILS, session(*turn(), end=())),
    ("session.forbidden_event:usage", "model", {"forbidden_events": ["usage"]}, FAILS, session(*turn())),
    ("session.end_reason", "model", {"end_reason": "finished"}, PASSES,
     session(end=(SessionEnd(reason="errored", detail=""), configured(), SessionEnd(reason="finished", detail="")),
             network=(NetworkSummary(), NetworkSummary()))),
    ("session.required_event:usage", "model", {"required_events": ["usage"]}, PASSES, session(*turn())),
    ("session.required_event:usage", "model", {"required_events": ["usage"]}, FAILS, session()),
    ("session.forbidden_event:diff", "model", {"forbidden_events": ["diff"]}, PASSES, session(*turn())),
    ("session.forbidden_event:usage", "model", {"forbidden_events": ["usage"]}, FAILS, session(*turn())),
    ("session.forbidden_tool:browser", "model", {"forbidden_tools": ["browser"]}, PASSES, session(call("shell"))),
    ("session.forbidden_tool:browser", "model", {"forbidden_tools": ["browser"]}, FAILS, session(call("browser"))),
    ("session.max_turns", "budget", {"max_turns": 2}, PASSES, session(*turn(), *turn())),
    ("session.max_turns", "budget", {"max_turns": 2}, FAILS, session(*turn(), *turn(), *turn())),
    ("session.max_turns", "budget", {"max_turns": 1}, PASSES, session(Usage(), Usage(), *turn())),
    ("session.max_cost", "budget", {"max_cost": 0.3, "currency": "USD"}, PASSES, session(*turn(dollars(0.1)) * 3)),
    ("session.max_cost", "budget", {"max_cost": 0.3, "currency": "USD"}, PASSES, session(*turn())),
    ("session.max_cost", "budget", {"max_cost": 0.3, "currency": "USD"}, FAILS, session(*turn(dollars(0.4)))),
    ("session.max_cost", "budget", {"max_cost": 9, "currency": "USD"}, UNKNOWN,
     session(*turn(dollars(0.1)), *turn(UnknownCost(unknown=True)))),
    ("session.max_cost", "budget", {"max_cost": 9, "currency": "USD"}, UNKNOWN, session(*turn(dollars(0.1, "EUR")))),
    ("session.max_cost", "budget", {"max_cost": 9, "currency": "USD"}, UNKNOWN,
     session(*turn(dollars(0.1)), Message(role="assistant", content=()))),
    ("session.max_cost", "budget", {"max_cost": 9, "currency": "USD"}, UNKNOWN, session(*turn(dollars(-5)))),
    ("session.subagents.min", "model", {"min_subagents": 1}, PASSES, session(spawn("A"))),
    ("session.subagents.min", "model", {"min_subagents": 1}, FAILS, session()),
    ("session.subagents.max", "model", {"max_subagents": 1}, PASSES, session(spawn("A"))),
    ("session.subagents.max", "model", {"max_subagents": 1}, FAILS, session(spawn("A"), spawn("B"))),
    ("session.subagents.complete", "harness", {"require_subagents_complete": True}, PASSES,
     session(spawn("A"), complete("A"))),
    ("session.subagents.complete", "harness", {"require_subagents_complete": True}, PASSES, session()),
    ("session.subagents.complete", "harness", {"require_subagents_complete": True}, FAILS,
     session(spawn("A"), complete("A"), spawn("B"), complete("B", "died"))),
    ("session.subagents.complete", "harness", {"require_subagents_complete": True}, FAILS, session(spawn("A"))),
    ("session.subagents.complete", "harness", {"require_subagents_complete": True}, FAILS,
     session(spawn("A"), complete("B"))),
    ("config.sha256", "policy", {"config_sha256": CONFIG}, PASSES, session()),
    ("config.sha256", "policy", {"config_sha256": CONFIG}, FAILS, session(config=(configured(config_hash="d" * 64),))),
    ("config.sha256", "policy", {"config_sha256": CONFIG}, FAILS,
     session(config=(configured(config_hash="d" * 64), configured()))),
    ("config.sha256", "policy", {"config_sha256": CONFIG}, UNKNOWN, session(config=(configured(config_hash=None),))),
    ("config.sha256", "policy", {"config_sha256": CONFIG}, UNKNOWN, session(config=())),
    ("session.no_refusals", "policy", {"require_no_refusals": True}, PASSES,
     session(*map(decision, ("allowed_by_policy", "approved_by_user", "approved_by_user_for_session",
                             "approved_by_review")))),
    *[("session.no_refusals", "policy", {"require_no_refusals": True}, FAILS, session(decision(word)))
      for word in ("denied_by_policy", "refused_by_user", "expired", "refused_by_review", "review_unavailable",
                   "a word of a later version")],
    ("session.no_refusals", "policy", {"require_no_refusals": True}, FAILS, session(request("git.push"))),
    ("sandbox.sha256", "sandbox", {"sandbox_sha256": SANDBOX}, PASSES, session()),
    ("sandbox.sha256", "sandbox", {"sandbox_sha256": SANDBOX}, FAILS,
     session(config=(configured(sandbox_hash="6" * 64),))),
    ("sandbox.sha256", "sandbox", {"sandbox_sha256": SANDBOX}, UNKNOWN, session(config=(configured(sandbox_hash=""),))),
    ("sandbox.driver", "sandbox", {"sandbox_driver": "native"}, PASSES, session()),
    ("sandbox.driver", "sandbox", {"sandbox_driver": "microvm"}, FAILS, session()),
    ("sandbox.driver", "sandbox", {"sandbox_driver": "native"}, FAILS,
     session(config=(configured(sandbox_driver="none"),))),
    ("sandbox.driver", "sandbox", {"sandbox_driver": "native"}, UNKNOWN,
     session(config=(configured(sandbox_driver=""),))),
    ("network.forbidden_host:example.invalid", "network", {"forbidden_network_hosts": ["example.invalid"]}, PASSES,
     session(call("fetch_url", url="https://example.org/a"))),
    ("network.forbidden_host:example.invalid", "network", {"forbidden_network_hosts": ["example.invalid"]}, FAILS,
     session(call("fetch_url", url="https://Example.Invalid:443/a"))),
    ("network.forbidden_host:example.invalid", "network", {"forbidden_network_hosts": ["example.invalid"]}, FAILS,
     session(decision("approved_by_user", "net.connect.invalid.example"))),
    ("network.forbidden_host:example.invalid", "network", {"forbidden_network_hosts": ["example.invalid"]}, FAILS,
     session(NetworkConnection(host="example.invalid", granted=1))),
    ("network.forbidden_host:example.invalid", "network", {"forbidden_network_hosts": ["example.invalid"]}, PASSES,
     session(decision("denied_by_policy", "net.connect.invalid.example"))),
    ("network.forbidden_host:example.invalid", "network", {"forbidden_network_hosts": ["example.invalid"]}, UNKNOWN,
     session(network=(NetworkSummary(granted=2),))),
    ("network.forbidden_host:example.invalid", "network", {"forbidden_network_hosts": ["example.invalid"]}, UNKNOWN,
     session(network=())),
    ("network.none", "network", {"require_no_network": True}, PASSES, session(call("shell"))),
    ("network.none", "network", {"require_no_network": True}, PASSES,
     session(decision("expired", "net.fetch.org.example"), network=(NetworkSummary(refused=1),))),
    ("network.none", "network", {"require_no_network": True}, FAILS,
     session(decision("allowed_by_policy", "net.fetch.org.example"))),
    ("network.none", "network", {"require_no_network": True}, FAILS, session(network=(NetworkSummary(granted=1),))),
    ("network.none", "network", {"require_no_network": True}, FAILS, session(call("fetch_url", url="x.org"))),
    ("network.none", "network", {"require_no_network": True}, UNKNOWN, session(network=())),
    ("network.none", "network", {"require_no_network": True}, UNKNOWN,
     session(config=(configured(), configured()))),
    ("fixture.base_commit", "fixture", {}, PASSES, session()),
    ("fixture.base_commit", "fixture", {}, FAILS, session(opening=(opened("d" * 40),))),
    ("fixture.base_commit", "fixture", {}, FAILS, session(opening=(opened("d" * 40), opened()))),
    ("fixture.base_commit", "fixture", {}, UNKNOWN, session(opening=(opened(""),))),
    ("fixture.base_commit", "fixture", {}, UNKNOWN, session(opening=())),
]  # fmt: skip


@pytest.mark.parametrize(
    "name, category, expect, outcome, events", CHECKS, ids=[f"{c[0]} {c[3]} {i}" for i, c in enumerate(CHECKS)]
)
def test_every_check_passes_fails_or_has_no_evidence(
    logged, name: str, category: str, expect: dict[str, Any], outcome: str, events: list[Payload]
) -> None:
    finding = found(judge(spec_of(expect=expect, base_commit="v1"), logged(events)), name)
    assert finding.category == category
    assert finding.passed == (outcome == PASSES), finding
    assert (finding.actual is None) == (outcome == UNKNOWN), finding
    assert finding.expected is not None
    if outcome == UNKNOWN:
        assert finding.detail


LOG_CHECKS = {name: expect for name, _, expect, _, _ in CHECKS}


@pytest.mark.parametrize("name", LOG_CHECKS)
def test_what_stands_in_a_log_that_cannot_be_verified_is_no_evidence(logged, name: str) -> None:
    torn = logged(session(*turn()), lambda data: data[:-10])
    report = judge(spec_of(expect=LOG_CHECKS[name]), torn)
    finding = found(report, name)
    assert (finding.category, finding.passed, finding.actual) == ("harness", False, None)
    assert "not judged: the log cannot be verified (audit.chain: " in finding.detail
    assert report.fault_owner == "harness"
    assert is_audit_gap(report)


DAMAGE: list[tuple[str, Callable[[bytes], bytes], str, str | None]] = [
    ("nothing", bytes, "intact", None),
    ("an edit", lambda data: data.replace(b"Make it so", b"Make it no"), "broken", "audit.chain"),
    ("a cut", lambda data: data[:-1], "torn", "audit.chain"),
    ("no events", lambda data: data[:16], "intact", "audit.chain"),
    ("a line that is no event", lambda data: data + b"{}\n", "undecodable", "audit.readable"),
    ("another header", lambda data: data.replace(b'"chock_log":1', b'"chock_log":2'), "bad_header", "audit.readable"),
    ("a second header", lambda data: data + data[:16], "undecodable", "audit.readable"),
    ("NUL bytes", lambda data: data + b"\0\0\0\n", "undecodable", "audit.readable"),
    ("no chain", lambda data: unchained(data), "unchained", "audit.chain"),
    ("nothing at all", lambda data: b"", "bad_header", "audit.readable"),
]


def unchained(data: bytes) -> bytes:
    header, *lines = data.splitlines()
    bare = [json.dumps({**json.loads(line), "prev": ""}, separators=(",", ":")).encode() for line in lines]
    return b"\n".join([header, *bare, b""])


@pytest.mark.parametrize("what, damage, verdict, fails", DAMAGE, ids=[each[0] for each in DAMAGE])
def test_only_an_intact_log_with_an_event_passes(logged, what: str, damage, verdict: str, fails: str | None) -> None:
    log = logged(session(*turn()), damage)
    assert log.verdict.verdict == verdict
    report = judge(spec_of(expect={"end_reason": "finished"}), log)
    assert is_audit_gap(report) == (fails is not None)
    assert report.passed == (fails is None)
    if fails is not None:
        assert not found(report, fails).passed
        assert not found(report, "audit.chain").passed
        assert found(report, fails).category == "harness"
        assert not [each for each in report.findings if each.category == "model"]
        assert (report.session, report.config_sha256, report.sandbox_driver) == (None, None, None)


def test_a_log_that_is_not_there_is_no_evidence(tmp_path: Path) -> None:
    log = LogEvidence(*examine_log(tmp_path / "gone.jsonl"))
    report = judge(spec_of(), log, session=SESSION)
    assert found(report, "audit.readable").actual == "unreadable"
    assert is_audit_gap(report)
    assert report.session == SESSION


def test_the_pinned_bytes_of_a_log_are_judged(logged) -> None:
    log = logged(session())
    assert found(judge(spec_of(expect={"audit_sha256": log.verdict.sha256}), log), "audit.sha256").passed
    report = judge(spec_of(expect={"audit_sha256": "0" * 64, "end_reason": "finished"}), log)
    finding = found(report, "audit.sha256")
    assert (finding.category, finding.passed, finding.actual) == ("harness", False, log.verdict.sha256)
    assert found(report, "session.end_reason").category == "harness"
    assert is_audit_gap(report)


def test_a_pinned_log_that_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    log = LogEvidence(*examine_log(tmp_path / "gone.jsonl"))
    assert found(judge(spec_of(expect={"audit_sha256": "0" * 64}), log), "audit.sha256").actual is None


def test_a_log_of_another_session_is_not_that_sessions_evidence(logged) -> None:
    report = judge(spec_of(expect={"end_reason": "finished"}), logged(session()), session="01K0000000ABCDEFGHJKMNPQRS")
    finding = found(report, "audit.readable")
    assert (finding.passed, finding.actual) == (False, "another session")
    assert is_audit_gap(report)


def test_events_of_a_foreign_session_spoil_a_log(logged, tmp_path: Path) -> None:
    log = logged(session(*turn()))
    facts = log.facts.model_copy(update={"foreign_events": 2})
    report = judge(spec_of(), log._replace(facts=facts))
    assert found(report, "audit.readable").actual == "several sessions"
    assert is_audit_gap(report)


def test_the_report_tells_what_the_log_and_the_spec_say(logged) -> None:
    provenance = {"checkpoint": "x@1", "seed": 42}
    report = judge(spec_of(provenance=provenance), logged(session(*turn())))
    assert (report.name, report.session, report.base_commit) == ("parser", SESSION, COMMIT)
    assert (report.config_sha256, report.sandbox_sha256, report.sandbox_driver) == (CONFIG, SANDBOX, "native")
    assert (report.producer.name, report.producer.version, report.spec_sha256) == ("assay", "0.1.0", "a" * 64)
    assert report.provenance is not None
    assert report.provenance.checkpoint == "x@1"
    assert load_report(report.to_bytes(), "r").report == report


def test_a_spec_that_asks_for_nothing_still_checks_the_evidence(logged) -> None:
    report = judge(spec_of(), logged(session(*turn())))
    names = ["audit.readable", "audit.chain", "fixture.available", "fixture.base_commit"]
    assert [finding.name for finding in report.findings] == names
    assert (report.passed, report.score, report.reward) == (True, 1.0, 1.0)


def test_findings_of_the_maker_of_a_session_come_along(logged) -> None:
    capture = Finding(
        name="capture.integrity", category="harness", passed=False, expected="a", actual="b", detail=""
    )  # fmt: skip
    report = judge(spec_of(), logged(session()), first=[capture])
    assert found(report, "capture.integrity") == capture
    assert report.fault_owner == "harness"


# The fixture and the tree.


def test_a_fixture_that_is_not_there_is_nobody_elses_fault(logged) -> None:
    gone = TreeEvidence("fixture", problem="fixture is no folder")
    spec = spec_of(
        expect={"required_paths": ["a"], "forbidden_paths": ["b"], "files": [{"path": "c", "sha256": "0" * 64}]},
        tests=[{"name": "unit", "argv": ["make"]}],
    )
    report = judge(spec, logged(session()), gone, commands=[])
    failed = [finding for finding in report.findings if not finding.passed]
    names = ["fixture.available", "fixture.base_commit", "path.required:a", "path.forbidden:b", "file.sha256:c"]
    assert [finding.name for finding in failed] == [*names, "test:unit"]
    assert {finding.category for finding in failed} == {"fixture"}
    assert {finding.actual for finding in failed} == {None}
    assert report.fault_owner == "fixture"


def test_a_base_commit_that_does_not_resolve_is_the_fixtures_fault(logged) -> None:
    tree = TREE._replace(base_commit=None, base_problem="there is no such commit")
    report = judge(spec_of(base_commit="v9"), logged(session()), tree)
    finding = found(report, "fixture.base_commit")
    assert (finding.passed, finding.expected, finding.actual) == (False, "v9", None)
    assert report.fault_owner == "fixture"


def test_a_head_that_moved_on_is_told_and_a_tag_that_moved_fails(logged) -> None:
    moved = TREE._replace(base_commit="e" * 40)
    finding = found(judge(spec_of(), logged(session()), moved), "fixture.base_commit")
    assert (finding.passed, finding.actual) == (True, COMMIT)
    assert "HEAD has moved" in finding.detail


def test_a_tag_that_moved_is_another_fixture(logged) -> None:
    moved = TREE._replace(base_commit="e" * 40)
    report = judge(spec_of(base_commit="v1"), logged(session()), moved)
    assert not found(report, "fixture.base_commit").passed
    assert report.base_commit == COMMIT


def test_a_head_of_a_commit_that_the_fixture_does_not_have_fails(logged) -> None:
    other = TREE._replace(base_commit="e" * 40, known_commits=frozenset())
    assert not found(judge(spec_of(), logged(session()), other), "fixture.base_commit").passed


@pytest.mark.parametrize("commit, passed", [("", True), (COMMIT, False)])
def test_a_fixture_without_git_has_sessions_without_commits(logged, commit: str, passed: bool) -> None:
    plain = TreeEvidence("fixture", has_git=False)
    report = judge(spec_of(), logged(session(opening=(opened(commit),))), plain)
    assert found(report, "fixture.base_commit").passed is passed


PATHS = [
    ("path.required:a", {"required_paths": ["a"]}, PathState(PathKind.FILE), PASSES),
    ("path.required:a", {"required_paths": ["a"]}, PathState(PathKind.FOLDER), PASSES),
    ("path.required:a", {"required_paths": ["a"]}, PathState(PathKind.ABSENT), FAILS),
    ("path.required:a", {"required_paths": ["a"]}, PathState(PathKind.LINK), FAILS),
    ("path.required:a", {"required_paths": ["a"]}, PathState(PathKind.OUTSIDE, detail="leads out"), UNKNOWN),
    ("path.required:a", {"required_paths": ["a"]}, None, UNKNOWN),
    ("path.forbidden:a", {"forbidden_paths": ["a"]}, PathState(PathKind.ABSENT), PASSES),
    ("path.forbidden:a", {"forbidden_paths": ["a"]}, PathState(PathKind.FILE), FAILS),
    ("path.forbidden:a", {"forbidden_paths": ["a"]}, PathState(PathKind.LINK), FAILS),
    ("path.forbidden:a", {"forbidden_paths": ["a"]}, PathState(PathKind.OUTSIDE, detail="leads out"), UNKNOWN),
    ("path.forbidden:a", {"forbidden_paths": ["a"]}, None, UNKNOWN),
    ("file.sha256:a", {"files": [{"path": "a", "sha256": "1" * 64}]}, PathState(PathKind.FILE, "1" * 64), PASSES),
    ("file.sha256:a", {"files": [{"path": "a", "sha256": "1" * 64}]}, PathState(PathKind.FILE, "2" * 64), FAILS),
    ("file.sha256:a", {"files": [{"path": "a", "sha256": "1" * 64}]}, PathState(PathKind.ABSENT), UNKNOWN),
    ("file.sha256:a", {"files": [{"path": "a", "sha256": "1" * 64}]}, None, UNKNOWN),
]


@pytest.mark.parametrize("name, expect, state, outcome", PATHS)
def test_paths_of_the_tree_are_judged(logged, name: str, expect, state: PathState | None, outcome: str) -> None:
    tree = TREE._replace(paths={} if state is None else {"a": state})
    report = judge(spec_of(expect=expect), logged(session()), tree)
    finding = found(report, name)
    assert (finding.category, finding.passed) == ("fixture", outcome == PASSES)
    assert (finding.actual is None) == (outcome == UNKNOWN)
    assert bool(finding.detail) == (outcome == UNKNOWN)
    assert report.fault_owner is None


# The test commands.

UNIT = {"tests": [{"name": "unit", "argv": ["make", "test"]}], "test_files": ["tests"]}
COMMANDS = [
    (CommandResult("unit", exit_status=0), "test", True, 0),
    (CommandResult("unit", exit_status=2), "test", False, 2),
    (CommandResult("unit", signal=9), "test", False, "SIGKILL"),
    (CommandResult("unit", signal=99), "test", False, "signal 99"),
    (CommandResult("unit", stopped="timed out"), "test", False, "timed out"),
    (CommandResult("unit", not_started="no such program"), "harness", False, None),
    (CommandResult("unit", not_started="no such program", starts_on_fixture=False), "harness", False, None),
    (CommandResult("unit", not_started="no such program", starts_on_fixture=True), "test", False, "not started"),
    (None, "harness", False, None),
]


@pytest.mark.parametrize("result, category, passed, actual", COMMANDS)
def test_test_commands_are_judged_by_how_they_end(
    logged, result: CommandResult | None, category: str, passed: bool, actual: object
) -> None:
    report = judge(spec_of(**UNIT), logged(session()), commands=[] if result is None else [result])
    finding = found(report, "test:unit")
    assert (finding.category, finding.passed, finding.actual) == (category, passed, actual)
    assert finding.expected == 0
    assert report.fault_owner == ("harness" if category == "harness" else None)
    assert ("tests" in report.reward_components) == (category == "test")


def test_commands_that_were_not_to_be_run_are_not_judged(logged) -> None:
    report = judge(spec_of(**UNIT), logged(session()), commands=None)
    assert not [finding for finding in report.findings if finding.name.startswith("test:")]
    assert report.passed


def test_the_report_says_when_tests_are_not_protected(logged) -> None:
    results = [CommandResult("unit", exit_status=0, output="1 passed")]
    finding = found(judge(spec_of(**UNIT), logged(session()), commands=results), "test:unit")
    assert finding.detail.startswith("tests not protected")
    assert finding.detail.endswith("\n1 passed")
    protected = [results[0]._replace(is_protected=True)]
    assert found(judge(spec_of(**UNIT), logged(session()), commands=protected), "test:unit").detail == "1 passed"


def test_commands_are_judged_also_where_the_log_is_no_evidence(logged) -> None:
    torn = logged(session(), lambda data: data[:-1])
    report = judge(spec_of(**UNIT), torn, commands=[CommandResult("unit", exit_status=0)])
    assert found(report, "test:unit").passed
    assert is_audit_gap(report)


def test_the_evaluator_is_a_function_of_the_evidence(logged) -> None:
    log = logged(session(call("shell"), ToolResult(call_id="1", output="", is_error=True, truncated=False), *turn()))
    spec = spec_of(expect={"end_reason": "finished", "max_turns": 1, "require_no_network": True})
    assert judge(spec, log).to_bytes() == judge(spec, log).to_bytes()
