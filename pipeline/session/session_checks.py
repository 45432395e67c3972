"""Checks of what the log says about the session: the model's work, its budget, its children."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from pydantic import JsonValue

from pipeline.records.audit_names import AgentOutcome
from pipeline.records.expectations import Expectations
from pipeline.records.owners import Owner
from pipeline.session.facts import Child, SessionFacts
from pipeline.session.findings import Judged, SessionCheck, listed

TOLERANCE = 1e-9  # relative, of sums of money: three times 0.1 is not above 0.3


def session_checks(expect: Expectations) -> Iterator[SessionCheck]:
    """The checks that a spec asks for, in the order of the report."""
    yield from _end(expect)
    yield from _counts(expect)
    yield from _budget(expect)
    yield from _children(expect)


def _end(expect: Expectations) -> Iterator[SessionCheck]:
    wanted = expect.end_reason
    if wanted is None:
        return

    yield SessionCheck("session.end_reason", Owner.MODEL, wanted, partial(_judge_end, wanted))


def _judge_end(wanted: str, facts: SessionFacts) -> Judged:
    if facts.end_reason is None:
        return Judged(False, None, "the log has no session.end")
    if facts.is_open:
        return Judged(False, None, f"a run began after the last session.end ({facts.end_reason}), and has no end")
    return Judged(facts.end_reason == wanted, facts.end_reason)


def _counts(expect: Expectations) -> Iterator[SessionCheck]:
    for name in expect.required_events:
        count = partial(_count_of_event, name)
        some = partial(_some, count)
        yield SessionCheck(f"session.required_event:{name}", Owner.MODEL, "at least 1", some)
    for name in expect.forbidden_events:
        count = partial(_count_of_event, name)
        yield SessionCheck(f"session.forbidden_event:{name}", Owner.MODEL, 0, partial(_none, count))
    for name in expect.forbidden_tools:
        count = partial(_count_of_tool, name)
        yield SessionCheck(f"session.forbidden_tool:{name}", Owner.MODEL, 0, partial(_none, count))


def _count_of_event(name: str, facts: SessionFacts) -> int:
    return facts.events.get(name, 0)


def _count_of_tool(name: str, facts: SessionFacts) -> int:
    return facts.tools.get(name, 0)


def _some(count: Callable[[SessionFacts], int], facts: SessionFacts) -> Judged:
    return Judged(count(facts) > 0, count(facts))


def _none(count: Callable[[SessionFacts], int], facts: SessionFacts) -> Judged:
    return Judged(count(facts) == 0, count(facts))


def _budget(expect: Expectations) -> Iterator[SessionCheck]:
    turns, cost, currency = expect.max_turns, expect.max_cost, expect.currency
    if turns is not None:
        most = turns
        yield SessionCheck(
            "session.max_turns", Owner.BUDGET, most, lambda facts: Judged(facts.turns <= most, facts.turns)
        )
    if cost is not None and currency is not None:
        wanted: JsonValue = {"value": cost, "currency": currency}
        yield SessionCheck("session.max_cost", Owner.BUDGET, wanted, partial(_judge_cost, cost, currency))


def _judge_cost(most: float, currency: str, facts: SessionFacts) -> Judged:
    spent = facts.spend.get(currency, 0.0)
    actual: JsonValue = {"value": spent, "currency": currency}
    unknown = _unknown_cost(currency, facts)
    if unknown:
        return Judged(False, None, f"{unknown}; what is known is {spent:g} {currency}")
    return Judged(spent <= most * (1 + TOLERANCE), actual)


def _unknown_cost(currency: str, facts: SessionFacts) -> str:
    """Why the cost is not known; empty: it is. A price that is not known is never cheap."""
    if facts.unpriced_turns:
        return f"{facts.unpriced_turns:,} of {facts.requests:,} requests have no known price"
    if facts.requests < facts.turns:
        return f"{facts.turns:,} turns have only {facts.requests:,} usage events, so that what they cost is not known"
    others = sorted(other for other, amount in facts.spend.items() if other != currency and amount > 0)
    if others:
        return f"some of it was spent in {listed(others)}"
    return ""


def _children(expect: Expectations) -> Iterator[SessionCheck]:
    least, most = expect.min_subagents, expect.max_subagents
    if least is not None:
        yield SessionCheck("session.subagents.min", Owner.MODEL, least, partial(_judge_children, least, None))
    if most is not None:
        yield SessionCheck("session.subagents.max", Owner.MODEL, most, partial(_judge_children, 0, most))
    if expect.require_subagents_complete:
        yield SessionCheck("session.subagents.complete", Owner.HARNESS, "all finished", _judge_complete)


def _judge_children(least: int, most: int | None, facts: SessionFacts) -> Judged:
    count = len(facts.children)
    return Judged(least <= count and (most is None or count <= most), count)


def _judge_complete(facts: SessionFacts) -> Judged:
    unfinished = [child for child in facts.children if child.outcome != AgentOutcome.FINISHED]
    if not unfinished:
        return Judged(True, "all finished")
    actual = f"{len(facts.children) - len(unfinished):,} of {len(facts.children):,} finished"
    return Judged(False, actual, listed(map(_told, unfinished)))


def _told(child: Child) -> str:
    return (
        f"{child.session} was lost: no agent.complete" if child.outcome is None else f"{child.session} {child.outcome}"
    )
