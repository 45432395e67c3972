"""A check that reads the log, and what becomes of it where the log is no evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pydantic import JsonValue

from pipeline.records.owners import Owner
from pipeline.records.report import Category, Finding
from pipeline.session.evidence import LogEvidence
from pipeline.session.facts import SessionFacts

MAX_LISTED = 10  # items that a detail names


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
    return finding(check.name, check.category, check.expected, check.judge(log.facts))


def finding(name: str, category: Category, expected: JsonValue, judged: Judged) -> Finding:
    """A finding from what was expected and what was judged."""
    passed, actual, detail = judged
    return Finding(name=name, category=category, passed=passed, expected=expected, actual=actual, detail=detail)


def listed(items: Iterable[str]) -> str:
    """A list for a detail, cut where it is long."""
    everything = list(items)
    more = len(everything) - MAX_LISTED
    return ", ".join(everything[:MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")
