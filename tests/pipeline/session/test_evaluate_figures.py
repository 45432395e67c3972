"""What findings amount to: score, components, reward, and whose fault it is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records.eval_spec import RewardWeights
from pipeline.records.owners import Owner
from pipeline.records.report import Finding
from pipeline.session.aggregate import aggregate_findings, weighted_mean

DEFAULTS = RewardWeights().model_dump()
SEED = {**DEFAULTS, "model": 1, "sandbox": 1, "fixture": 2, "policy": 2, "network": 2, "budget": 0.5, "tests": 3}


def found(category: str, passed: bool, name: str = "x") -> Finding:
    return Finding(name=name, category=Owner(category), passed=passed, expected=None, actual=None, detail="")


def test_the_score_is_the_share_of_checks_that_passed() -> None:
    figures = aggregate_findings([found("model", True), found("test", True), found("harness", False)], DEFAULTS)
    assert figures.score == 2 / 3
    assert not figures.passed


def test_a_component_is_the_share_of_its_category_and_an_empty_category_is_absent() -> None:
    figures = aggregate_findings([found("test", True), found("test", False), found("model", True)], DEFAULTS)
    assert figures.components == {"model": 1.0, "tests": 0.5}


def test_the_reward_is_the_weighted_mean_of_the_components_that_are_there() -> None:
    findings = [found("model", True), found("test", True), found("test", False), found("budget", False)]
    figures = aggregate_findings(findings, SEED)
    assert figures.reward == (1 * 1.0 + 3 * 0.5 + 0.5 * 0.0) / (1 + 3 + 0.5)


def test_a_weight_of_zero_shows_a_component_and_keeps_it_out_of_the_reward() -> None:
    figures = aggregate_findings([found("harness", False), found("model", True)], DEFAULTS)
    assert figures.components == {"harness": 0.0, "model": 1.0}
    assert figures.reward == 1.0


def test_there_is_no_reward_without_a_component_that_has_a_weight() -> None:
    assert aggregate_findings([found("harness", True)], DEFAULTS).reward is None
    assert aggregate_findings([found("model", False)], {**DEFAULTS, "model": 0.0}).reward is None


@pytest.mark.parametrize(
    "failed, owner",
    [
        ([("harness", "audit.chain")], "harness"),
        ([("sandbox", "sandbox.driver")], "sandbox"),
        ([("fixture", "fixture.available")], "fixture"),
        ([("fixture", "fixture.base_commit")], "fixture"),
        ([("fixture", "fixture.base_commit"), ("sandbox", "sandbox.sha256"), ("model", "x")], "sandbox"),
        ([("sandbox", "sandbox.sha256"), ("harness", "audit.sha256")], "harness"),
        ([("fixture", "path.required:a")], None),
        ([("fixture", "path.forbidden:a")], None),
        ([("fixture", "file.sha256:a")], None),
        ([("model", "x"), ("policy", "x"), ("network", "x"), ("budget", "x"), ("test", "x")], None),
    ],
)
def test_a_fault_is_where_the_evidence_is_not_about_the_model(failed: list, owner: str | None) -> None:
    findings = [found("harness", True), *(found(category, False, name) for category, name in failed)]
    assert aggregate_findings(findings, DEFAULTS).fault_owner == owner


def test_findings_that_passed_are_nobodys_fault() -> None:
    passed = [found("harness", True), found("sandbox", True), found("fixture", True, "fixture.available")]
    assert aggregate_findings(passed, DEFAULTS).fault_owner is None


NUMBERS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


@given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)), st.tuples(st.floats(0, 1), NUMBERS), min_size=1))
def test_a_reward_lies_between_the_components_it_is_made_of(components: dict) -> None:
    values = {name: value for name, (value, _) in components.items()}
    weights = {name: weight for name, (_, weight) in components.items()}
    weighed = [values[name] for name in values if weights[name] > 0]
    mean = weighted_mean(values, weights)
    if not weighed:
        assert mean is None
    else:
        assert mean is not None
        assert math.isfinite(mean)
        assert min(weighed) - 1e-12 <= mean <= max(weighed) + 1e-12
        assert 0 <= mean <= 1
