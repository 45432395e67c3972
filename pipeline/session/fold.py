"""Folds the events of a log to the facts that checks ask for, one event after the other, in flat memory."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.records.audit_event import AuditEvent
from pipeline.records.audit_names import APPROVALS, Role
from pipeline.records.audit_verdict import ChainVerdict
from pipeline.session.audit_log import verify_log
from pipeline.session.facts import Child, Refusal, SessionFacts
from pipeline.session.hosts import FETCH_TOOL, host_of_action, hosts_of_arguments, normal_host

MAX_REFUSALS = 100  # that are kept with their names; all are counted


class ExaminedLog(NamedTuple):
    """A log that was verified and folded in one pass: the facts are of the very bytes that the verdict is on."""

    verdict: ChainVerdict
    facts: SessionFacts | None
    """Up to where reading stopped, also past a break; None: no event was reached."""


def examine_log(path: Path) -> ExaminedLog:
    """Verify a log and fold its events, in one pass. Never raises for what the file holds."""
    fold = Fold()
    verdict = verify_log(path, fold.add)
    return ExaminedLog(verdict, fold.facts() if verdict.events else None)


def fold_events(events: Iterable[AuditEvent]) -> SessionFacts:
    """The facts of a session, from its events in order.

    The last `session.end` stands. A child's k-th `agent.complete` belongs to its k-th `session.spawn`. Costs are added
    up as decimals; a cost below zero or without a currency is no price. A decision that is not known is a refusal.
    """
    fold = Fold()
    for event in events:
        fold.add(event)
    return fold.facts()


class Fold:
    """Takes events one by one. They must have been decoded: payloads of known names are as their models say."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._counts: Counter[str] = Counter()
        """Facts that are numbers, by their names."""
        self._events: Counter[str] = Counter()
        self._tools: Counter[str] = Counter()
        self._end_reason: str | None = None
        self._is_open = False
        self._spend: dict[str, Decimal] = {}
        self._refusals: list[Refusal] = []
        self._pending: dict[int, str] = {}
        """Requests without a decision: id → action."""
        self._spawned: list[tuple[str, str]] = []
        self._outcomes: dict[str, list[str]] = {}
        self._hosts = _Hosts()
        self._seen: dict[str, dict[Any, None]] = {"config": {}, "sandbox": {}, "driver": {}, "commit": {}}
        """Values of all runs, each once, the newest last."""

    def add(self, event: AuditEvent) -> None:
        """The next event."""
        if event.session != self._session:
            if self._session is not None:
                self._counts["foreign_events"] += 1
                return
            self._session = event.session
        self._events[event.name] += 1
        if take := _TAKES.get(event.name):
            take(self, event)

    def facts(self) -> SessionFacts:
        """What is known by now."""
        return SessionFacts(
            session=self._session,
            events=dict(self._events),
            tools=dict(self._tools),
            end_reason=self._end_reason,
            is_open=self._is_open,
            spend={currency: _as_float(total) for currency, total in self._spend.items()},
            refusals=tuple(self._refusals),
            unanswered_requests=len(self._pending),
            children=self._children(),
            stray_completions=self._stray_completions(),
            hosts=tuple(sorted(self._hosts.named)),
            refused_hosts=tuple(sorted(self._hosts.refused - self._hosts.granted)),
            unnamed_network_uses=self._hosts.n_unnamed,
            config_hashes=tuple(self._seen["config"]),
            sandbox_hashes=tuple(self._seen["sandbox"]),
            sandbox_drivers=tuple(self._seen["driver"]),
            base_commits=tuple(self._seen["commit"]),
            **self._counts,
        )

    def _message(self, event: AuditEvent) -> None:
        self._counts["turns"] += event.raw["role"] == Role.ASSISTANT

    def _tool_call(self, event: AuditEvent) -> None:
        tool = event.raw["tool"]
        self._tools[tool] += 1
        if tool == FETCH_TOOL:
            self._hosts.name(hosts_of_arguments(event.raw["arguments"]))

    def _usage(self, event: AuditEvent) -> None:
        self._counts["requests"] += 1
        cost: Mapping[str, Any] = event.raw.get("cost", {})
        known = cost.get("known")
        if known is not None and known["value"] >= 0 and known["currency"]:
            currency = known["currency"]
            self._counts["priced_turns"] += 1
            self._spend[currency] = self._spend.get(currency, Decimal(0)) + Decimal(repr(known["value"]))
        else:
            self._counts["free_turns" if cost.get("free") is True else "unpriced_turns"] += 1

    def _config(self, event: AuditEvent) -> None:
        self._counts["runs"] += 1
        self._is_open = True
        self._saw("config", event.raw["config_hash"])
        self._saw("sandbox", event.raw.get("sandbox_hash") or None)
        self._saw("driver", event.raw.get("sandbox_driver") or None)

    def _end(self, event: AuditEvent) -> None:
        self._counts["ends"] += 1
        self._is_open = False
        self._end_reason = event.raw["reason"]

    def _workspace(self, event: AuditEvent) -> None:
        self._saw("commit", event.raw["base_commit"])

    def _spawn(self, event: AuditEvent) -> None:
        self._spawned.append((event.raw["child_session"], event.raw["child_agent_kind"]))

    def _complete(self, event: AuditEvent) -> None:
        self._outcomes.setdefault(event.raw["child_session"], []).append(event.raw["outcome"])

    def _request(self, event: AuditEvent) -> None:
        action = event.raw["action"]
        self._pending[event.id] = action
        if (host := host_of_action(action)) is not None:
            self._hosts.name((host,) if host else ())

    def _response(self, event: AuditEvent) -> None:
        asked = self._pending.pop(event.raw["request_id"], "")
        action, decision = event.raw.get("action") or asked, event.raw["decision"]
        is_approval = decision in APPROVALS
        if not is_approval:
            self._counts["n_refusals"] += 1
            if len(self._refusals) < MAX_REFUSALS:
                self._refusals.append(Refusal(at=event.id, action=action, decision=decision))
        for each in dict.fromkeys((action, asked)):
            if (host := host_of_action(each)) is not None:
                self._hosts.decide(host, is_granted=is_approval)

    def _connection(self, event: AuditEvent) -> None:
        host = normal_host(event.raw["host"])
        self._hosts.name((host,) if host else ())
        for member, is_granted in (("granted", True), ("refused", False)):
            if event.raw.get(member, 0) > 0:
                self._hosts.decide(host, is_granted=is_granted)

    def _network(self, event: AuditEvent) -> None:
        # A count below zero would hide others.
        self._counts["connections_granted"] += max(0, event.raw.get("granted", 0))
        self._counts["connections_refused"] += max(0, event.raw.get("refused", 0))

    def _saw(self, what: str, value: Any) -> None:
        self._seen[what].pop(value, None)
        self._seen[what][value] = None

    def _children(self) -> tuple[Child, ...]:
        outcomes = {session: iter(each) for session, each in self._outcomes.items()}
        return tuple(
            Child(session=session, agent_kind=kind, outcome=next(outcomes.get(session, iter(())), None))
            for session, kind in self._spawned
        )

    def _stray_completions(self) -> int:
        spawns = Counter(session for session, _ in self._spawned)
        return sum(max(0, len(each) - spawns[session]) for session, each in self._outcomes.items())


class _Hosts:
    """Hosts that were named, and what was decided on them."""

    def __init__(self) -> None:
        self.named: set[str] = set()
        self.granted: set[str] = set()
        self.refused: set[str] = set()
        self.n_unnamed = 0

    def name(self, hosts: tuple[str, ...]) -> None:
        """Hosts of one use; empty: it names none."""
        self.named.update(hosts)
        self.n_unnamed += not hosts

    def decide(self, host: str, *, is_granted: bool) -> None:
        if host:
            self.named.add(host)
            (self.granted if is_granted else self.refused).add(host)
        else:
            self.n_unnamed += 1


def _as_float(total: Decimal) -> float:
    return min(float(total), sys.float_info.max)


_TAKES: Mapping[str, Callable[[Fold, AuditEvent], None]] = {
    "message": Fold._message,
    "tool.call": Fold._tool_call,
    "usage": Fold._usage,
    "session.config": Fold._config,
    "session.end": Fold._end,
    "workspace.open": Fold._workspace,
    "session.spawn": Fold._spawn,
    "agent.complete": Fold._complete,
    "approval.request": Fold._request,
    "approval.response": Fold._response,
    "network.connection": Fold._connection,
    "network.summary": Fold._network,
}
