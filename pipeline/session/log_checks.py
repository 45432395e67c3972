"""Checks of the log itself: can it be read, is its chain whole, is it the pinned one. The harness owns them."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.records.audit_names import Verdict
from pipeline.records.expectations import Expectations
from pipeline.records.owners import Owner
from pipeline.records.report import Finding
from pipeline.session.evidence import LogEvidence
from pipeline.session.findings import Judged, finding

LOG_FINDINGS = ("audit.readable", "audit.chain", "audit.sha256")
"""Where one of these fails, the log cannot be verified, and nothing that stands in it is evidence."""

_UNREAD = frozenset({Verdict.UNREADABLE, Verdict.BAD_HEADER, Verdict.UNDECODABLE})


def check_log(expect: Expectations, log: LogEvidence, session: str | None) -> Iterable[Finding]:
    """The findings about the log.

    Args:
        session: whose log it is to be; None: anybody's.
    """
    verdict = log.verdict
    yield finding("audit.readable", Owner.HARNESS, "readable", _judge_readable(log, session))
    chain = Judged(verdict.is_evidence, verdict.verdict.value, verdict.reason)
    yield finding("audit.chain", Owner.HARNESS, Verdict.INTACT.value, chain)
    if expect.audit_sha256 is not None:
        pinned = Judged(verdict.sha256 == expect.audit_sha256, verdict.sha256)
        yield finding("audit.sha256", Owner.HARNESS, expect.audit_sha256, pinned)


def _judge_readable(log: LogEvidence, session: str | None) -> Judged:
    if log.verdict.verdict in _UNREAD:
        return Judged(False, log.verdict.verdict.value, log.verdict.reason)
    facts = log.facts
    if facts is not None and facts.foreign_events:
        detail = f"{facts.foreign_events:,} events are of another session than {facts.session!r}"
        return Judged(False, "several sessions", detail)
    if facts is not None and session is not None and facts.session != session:
        return Judged(False, "another session", f"the log is of {facts.session!r}, expected that of {session!r}")
    return Judged(True, "readable")


def why_no_evidence(findings: Iterable[Finding]) -> str:
    """Why the log cannot be believed, by the findings about it; empty: it can be."""
    failed = next((each for each in findings if not each.passed), None)
    if failed is None:
        return ""
    return f"the log cannot be verified ({failed.name}: {failed.detail or f'found {failed.actual}'})"
