"""What findings amount to: score, components, reward, and whether the evidence is about the model at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from pipeline.records.owners import Owner
from pipeline.records.report import Category, Component, FaultOwner, Finding, Report

FIXTURE_FAULTS = frozenset({"fixture.available", "fixture.base_commit"})
"""Of the findings that the fixture owns, those without which nothing is known about the model.

The others, such as a path that is missing, are what the agent did to the repository.
"""


_ROUNDING = 1e-9


class Aggregates(NamedTuple):
    """The figures of a report."""

    passed: bool
    score: float
    reward: float | None
    components: dict[Component, float]
    fault_owner: FaultOwner | None


def aggregate_findings(findings: Sequence[Finding], weights: Mapping[Component, float]) -> Aggregates:
    """Add findings up.

    Args:
        findings: at least one.
        weights: of every component; finite and not negative.
    """
    components = _components(findings)
    return Aggregates(
        passed=all(finding.passed for finding in findings),
        score=_share_passed(findings),
        reward=weighted_mean(components, weights),
        components=components,
        fault_owner=_fault_owner(findings),
    )


def figures_amiss(report: Report) -> str:
    """What a report says of its findings that they do not give; empty: nothing.

    The weights of the reward are the spec's: of the reward itself only that it is a mean of the components is known.
    """
    if not report.findings:
        return "it has no findings"
    figures = aggregate_findings(report.findings, dict.fromkeys(_components(report.findings), 1.0))
    told = (report.passed, report.score, report.reward_components, report.fault_owner)
    given = (figures.passed, figures.score, figures.components, figures.fault_owner)
    for name, one, other in zip(("passed", "score", "reward_components", "fault_owner"), told, given, strict=True):
        if one != other:
            return f"{name} is not what its findings give"
    values = figures.components.values()
    if report.reward is not None and not min(values) - _ROUNDING <= report.reward <= max(values) + _ROUNDING:
        return "reward is no mean of its components"
    return ""


def component_of(category: Category) -> Component:
    """How a category is spelt as a component: the category `test` is the component `tests`."""
    return "tests" if category is Owner.TEST else cast(Component, category.value)


def weighted_mean(components: Mapping[Component, float], weights: Mapping[Component, float]) -> float | None:
    """Mean of the components that are present and have a weight; None where there is none: null is not zero."""
    weighed = [(weights[name], value) for name, value in components.items() if weights[name] > 0]
    if not weighed:
        return None
    # Scaled by a power of two, which is exact, so that no sum of large weights overflows.
    _, exponent = math.frexp(max(weight for weight, _ in weighed))
    scaled = [(math.ldexp(weight, -exponent), value) for weight, value in weighed]
    return math.fsum(weight * value for weight, value in scaled) / math.fsum(weight for weight, _ in scaled)


def _components(findings: Sequence[Finding]) -> dict[Component, float]:
    grouped: dict[Component, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(component_of(finding.category), []).append(finding)
    return {name: _share_passed(group) for name, group in sorted(grouped.items())}


def _share_passed(findings: Sequence[Finding]) -> float:
    return sum(finding.passed for finding in findings) / len(findings)


def _fault_owner(findings: Sequence[Finding]) -> FaultOwner | None:
    failed = [finding for finding in findings if not finding.passed]
    for owner in (Owner.HARNESS, Owner.SANDBOX):
        if any(finding.category is owner for finding in failed):
            return owner
    return Owner.FIXTURE if any(finding.name in FIXTURE_FAULTS for finding in failed) else None
