"""The evaluator: from a spec and the evidence to a report. One pure function; whoever has evidence calls it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from pipeline.records.eval_spec import EvalSpec
from pipeline.records.report import Component, Finding, Producer, Report
from pipeline.session.aggregate import aggregate_findings
from pipeline.session.command_checks import check_commands
from pipeline.session.environment_checks import environment_checks
from pipeline.session.evidence import CommandResult, LogEvidence, TreeEvidence
from pipeline.session.findings import SessionCheck, check_unfinished, judge_session
from pipeline.session.log_checks import LOG_FINDINGS, check_log, why_no_evidence
from pipeline.session.session_checks import session_checks
from pipeline.session.tree_checks import base_commit_check, check_fixture, check_paths

PRODUCER = "assay"


def evaluate(
    spec: EvalSpec,
    log: LogEvidence,
    tree: TreeEvidence,
    commands: Sequence[CommandResult] | None,
    *,
    spec_sha256: str,
    version: str,
    session: str | None = None,
    first: Iterable[Finding] = (),
) -> Report:
    """Judge a session.

    Args:
        spec: what it must show.
        log: its log, as it was verified.
        tree: the fixture, and the tree that it left.
        commands: what the spec's tests did; None: they were not to be run, and are not judged.
        spec_sha256: digest of the bytes of the spec's file.
        version: of this program.
        session: its id, which the log must have; None: the log tells it.
        first: findings of whoever made the session, such as those about its capture.

    Returns:
        A report in which everything that the spec asks for is a finding, also what there is no evidence for.
    """
    about_log = list(check_log(spec.expect, log, session))
    why_not = why_no_evidence(about_log)
    findings = [*about_log, *first]
    for check in _checks(spec, tree):
        findings.append(check if isinstance(check, Finding) else judge_session(check, log, why_not))
    findings += check_paths(spec, tree)
    if commands is not None:
        findings += check_commands(spec, tree, commands)
    facts = None if why_not else log.facts
    if facts is not None and spec.expect.end_reason is None:
        findings += check_unfinished(facts, findings)
    figures = aggregate_findings(findings, cast(dict[Component, float], spec.reward_weights.model_dump()))
    return Report(
        name=spec.name,
        session=session or (facts.session if facts else None),
        spec_sha256=spec_sha256,
        base_commit=(facts.base_commit if facts else None) or tree.base_commit,
        config_sha256=facts.config_hash if facts else None,
        sandbox_sha256=facts.sandbox_hash if facts else None,
        sandbox_driver=facts.sandbox_driver if facts else None,
        producer=Producer(name=PRODUCER, version=version),
        provenance=spec.provenance,
        passed=figures.passed,
        score=figures.score,
        reward=figures.reward,
        reward_components=figures.components,
        fault_owner=figures.fault_owner,
        findings=tuple(findings),
    )


def is_audit_gap(report: Report) -> bool:
    """Whether the log cannot be verified: its findings are then no evidence, and exit status 9 wins over 3."""
    return any(not finding.passed and finding.name in LOG_FINDINGS for finding in report.findings)


def _checks(spec: EvalSpec, tree: TreeEvidence) -> Iterable[Finding | SessionCheck]:
    """What is checked between the log itself and the paths, in the order of the report."""
    yield from session_checks(spec.expect)
    yield from environment_checks(spec.expect)
    yield check_fixture(tree)
    yield base_commit_check(spec, tree)
