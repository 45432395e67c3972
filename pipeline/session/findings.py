"""A check that reads the log, and what becomes of it where the log is no evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pydantic import JsonValue

from pipeline.formats.whole_text import whole_text
from pipeline.records.audit_names import EndReason
from pipeline.records.owners import Owner
from pipeline.records.report import Category, Finding
from pipeline.session.evidence import LogEvidence
from pipeline.session.facts import SessionFacts

_BLAMED = (Owner.MODEL, Owner.BUDGET, Owner.TEST)
MAX_LISTED = 10  # items that a detail names
UNFINISHED = frozenset({EndReason.ERRORED, EndReason.RATE_LIMITED, EndReason.CANCELED_BY_USER, EndReason.HANDED_OVER})
"""Ends that a provider, a user or another process brings about."""


class Judged(NamedTuple):
    """The outcome of a check."""

    passed: bool
    actual: JsonValue
    """None: there is no evidence."""
    detail: str = ""


class SessionCheck(NamedTuple):
    """One thing that a session must show."""

    name: str
    category: Category
    expected: JsonValue
    judge: Callable[[SessionFacts], Judged]


def judge_session(check: SessionCheck, log: LogEvidence, why_not: str) -> Finding:
    """The finding of a check that reads the log.

    Where the log is no evidence, the check fails and the harness owns it: what cannot be known is not the model's
    doing, and it stays in the denominator.

    Args:
        why_not: why the log is no evidence; empty: it is.
    """
    if why_not or log.facts is None:
        detail = f"not judged: {why_not or 'the log has no events'}"
        return finding(check.name, Owner.HARNESS, check.expected, Judged(False, None, detail))
    judged, why = check.judge(log.facts), _why_unfinished(log.facts, check.expected)
    if judged.passed or not why or check.category not in (Owner.MODEL, Owner.BUDGET):
        return finding(check.name, check.category, check.expected, judged)
    detail = f"{why}: not the model's doing" + (f"; {judged.detail}" if judged.detail else "")
    return finding(check.name, Owner.HARNESS, check.expected, judged._replace(detail=detail))


def check_unfinished(facts: SessionFacts, findings: Iterable[Finding]) -> Iterator[Finding]:
    """That a session had no end of its own, where something failed for which the model would be blamed.

    For specs that expect no end: without this finding nothing would say that the evidence is not about the model.
    """
    why = _why_unfinished(facts)
    if why and any(not each.passed and each.category in _BLAMED for each in findings):
        judged = Judged(False, facts.end_reason, f"{why}: not the model's doing")
        yield finding("session.end_reason", Owner.HARNESS, "an end of its own", judged)


def _why_unfinished(facts: SessionFacts, expected: JsonValue = None) -> str:
    """Why the model could not do all that it was to do; empty: it could, or that end was expected."""
    if facts.end_reason is None or facts.is_open:
        return "the session was cut off"
    if facts.end_reason in UNFINISHED and expected != facts.end_reason:
        return f"the session ended as {facts.end_reason}"
    return ""


def finding(name: str, category: Category, expected: JsonValue, judged: Judged) -> Finding:
    """A finding from what was expected and what was judged."""
    passed, actual, detail = judged
    # Names of files may hold bytes that are no text.
    told = whole_text(detail)
    return Finding(name=name, category=category, passed=passed, expected=expected, actual=actual, detail=told)


def listed(items: Iterable[str]) -> str:
    """A list for a detail, cut where it is long."""
    everything = list(items)
    more = len(everything) - MAX_LISTED
    return ", ".join(everything[:MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")
