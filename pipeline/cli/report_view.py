"""A report on a session, for people: findings by owner, expected beside actual, then the figures."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pipeline.cli.screen import paint, print_facts, print_table, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from pipeline.records.report import Finding, Report

MAX_LINES = 20  # of a detail such as what a test printed: its end; the report itself has all of it
_INDENT = " " * 10
_NAME = 60  # characters of a name; a longer one has a line of its own, so that the columns below it stay where they are
_EXPECTED = 40  # characters beside which `actual` stands, as many as a commit has; it stands below what is longer
_DIGEST = 12  # characters of a digest or commit that are shown where it is as expected
_HEX = re.compile(r"[0-9a-f]{40,}")


def print_report(report: Report, weights: Mapping[str, float], remarks: Sequence[str] = ()) -> None:
    """Show a report.

    Args:
        weights: of the components, as the spec has them.
        remarks: what is known of the session beside the report.
    """
    print(f"{paint(printable(report.name), 'bold')}, session {printable(report.session or '-')}")
    for owner in dict.fromkeys(finding.category for finding in report.findings):
        group = [finding for finding in report.findings if finding.category is owner]
        failed = sum(not finding.passed for finding in group)
        count = paint(f"{failed} of {len(group)} failed", "red") if failed else f"{len(group)} passed"
        print(f"\n{paint(owner.value, 'bold')}: {count}")
        _print_group(group)
    print()
    _print_figures(report, weights)
    for remark in remarks:
        print(paint(printable(remark), "yellow"))
    if report.fault_owner is not None:
        print(paint(f"no evidence about the model: what failed is owned by {report.fault_owner}", "yellow"))
    print(paint("passed", "green") if report.passed else paint("failed", "red"))


def _print_group(findings: Sequence[Finding]) -> None:
    cells = [(printable(finding.name), *_sides(finding)) for finding in findings]
    names, lefts = (
        max((len(row[column]) for row in cells if len(row[column]) <= most), default=0)
        for column, most in ((0, _NAME), (1, _EXPECTED))
    )
    told: Sequence[str] = ()
    for finding, (name, expected, actual) in zip(findings, cells, strict=True):
        mark = paint("ok    ", "green") if finding.passed else paint("FAILED", "red")
        if len(name) > names:
            print(f"  {mark}  {name}")
        before_values = f"{_INDENT}{'':<{names}}  " if len(name) > names else f"  {mark}  {name:<{names}}  "
        if len(expected) > lefts:
            print(f"{before_values}expected {expected}\n{_INDENT}{'':<{names}}  actual   {actual}")
        else:
            print(f"{before_values}expected {expected:<{lefts}}  actual {actual}")
        before, told = told, _detail(finding)
        for line in told if told != before else ():  # one reason may hold for many: it is told at the first
            print(paint(f"{_INDENT}{line}".rstrip(), "dim"))


def _sides(finding: Finding) -> tuple[str, str]:
    expected, actual = _shown(finding.expected), _shown(finding.actual)
    if expected == actual and _HEX.fullmatch(actual):
        return f"{expected[:_DIGEST]}…", f"{actual[:_DIGEST]}…"
    return expected, actual


def _shown(value: JsonValue) -> str:
    """A value on one line: text as it is, null as `-`, anything else as JSON."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(printable(text).split())


def _detail(finding: Finding) -> Sequence[str]:
    """What is told below a finding: all of it where it failed, else its first line."""
    lines = printable(finding.detail).rstrip().splitlines()
    if finding.passed:
        return lines[:1]
    hidden = len(lines) - MAX_LINES
    if hidden <= 0:
        return lines
    return [lines[0], f"… {hidden:,} lines more, in the report of --format json …", *lines[hidden + 1 :]]


def _print_figures(report: Report, weights: Mapping[str, float]) -> None:
    n_passed = sum(finding.passed for finding in report.findings)
    print_facts(
        [
            ("base commit", report.base_commit),
            ("config", report.config_sha256),
            ("sandbox", _sandbox(report)),
            ("score", f"{report.score:.4f} ({n_passed} of {len(report.findings)} passed)"),
            ("reward", _reward(report, _unjudged(report, weights))),
        ]
    )
    unjudged = _unjudged(report, weights)
    values: dict[str, float | None] = dict.fromkeys(unjudged)
    values.update({str(name): value for name, value in report.reward_components.items()})
    print()
    rows = [[name, value, f"{weights[name]:g}"] for name, value in sorted(values.items())]
    print_table(["component", "value", "weight"], rows, right=("value", "weight"), whole=("component",))
    if unjudged:
        print("-: nothing was judged of it, so it is no part of the reward, neither as 0 nor as 1")
    print()


def _unjudged(report: Report, weights: Mapping[str, float]) -> Sequence[str]:
    """Components that have a weight and no finding."""
    return [name for name, weight in sorted(weights.items()) if weight > 0 and name not in report.reward_components]


def _reward(report: Report, unjudged: Sequence[str]) -> str:
    """The reward, and why it is not to be believed where the evidence itself failed."""
    value = "-" if report.reward is None else f"{report.reward:.4f}"
    if report.fault_owner is None:
        return value
    missing = f"; nothing was judged of {', '.join(unjudged)}" if unjudged else ""
    return f"{value} (no evidence about the model{missing})"


def _sandbox(report: Report) -> str | None:
    parts = [part for part in (report.sandbox_driver, report.sandbox_sha256) if part is not None]
    return printable(" ".join(parts)) or None
