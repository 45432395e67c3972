"""Two reports: floors, regressions, pins, and reports that are no evidence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.records.report import LoadedReport, load_report
from pipeline.session.compare import compare_reports


def report(**changes: Any) -> LoadedReport:
    """A report as it is read from a file."""
    body: dict[str, Any] = {
        "schema": "chock.eval-report", "version": 1, "name": "parser", "session": "01J0000000ABCDEFGHJKMNPQRS",
        "spec_sha256": "a" * 64, "base_commit": "b" * 40, "config_sha256": None, "sandbox_sha256": None,
        "sandbox_driver": "native", "producer": {"name": "assay", "version": "0.1.0"}, "provenance": None,
        "passed": True, "score": 0.9, "reward": 0.8, "reward_components": {"model": 1.0, "tests": 0.5},
        "fault_owner": None,
        "findings": [{"name": "session.end_reason", "category": "model", "passed": True, "expected": "finished",
                      "actual": "finished", "detail": ""}],
    }  # fmt: skip
    return load_report(json.dumps(body | changes).encode(), "report.json")


def with_provenance(**fields: Any) -> LoadedReport:
    return report(provenance=fields)


def test_equal_reports_pass_by_default() -> None:
    verdict = compare_reports(report(), report())
    assert verdict.comparison.passed
    assert verdict.comparison.delta == 0
    assert verdict.comparison.reasons == ()
    assert verdict.comparison.minimum_score is None


def test_a_better_candidate_passes() -> None:
    verdict = compare_reports(report(score=0.5), report(score=0.9))
    assert verdict.comparison.passed
    assert verdict.comparison.delta == pytest.approx(0.4)


def test_any_regression_fails_by_default() -> None:
    verdict = compare_reports(report(score=0.9), report(score=0.899))
    assert (verdict.is_met, verdict.comparison.passed) == (False, False)
    assert "below the baseline's 0.9; 0 is allowed" in verdict.comparison.reasons[0]


@pytest.mark.parametrize("score, is_met", [(0.8, True), (0.8 - 2e-9, False), (0.79, False), (1.0, True)])
def test_a_regression_is_allowed_up_to_its_bound(score: float, is_met: bool) -> None:
    assert compare_reports(report(score=0.9), report(score=score), max_regression=0.1).is_met is is_met


@pytest.mark.parametrize("score, is_met", [(0.9, True), (0.9 - 2e-9, False), (0.95, True)])
def test_a_floor_is_kept_whatever_the_baseline_was(score: float, is_met: bool) -> None:
    verdict = compare_reports(report(score=0.1), report(score=score), minimum_score=0.9)
    assert verdict.is_met is is_met


def test_rounding_is_no_regression() -> None:
    assert compare_reports(report(score=0.1 + 0.2), report(score=0.3)).is_met
    assert compare_reports(report(score=0.3), report(score=0.2), max_regression=0.1).is_met


@pytest.mark.parametrize("bound", [-0.1, 1.1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["minimum_score", "max_regression"])
def test_bounds_are_fractions(name: str, bound: float) -> None:
    with pytest.raises(InputError, match=f"{name} is .*; expected a fraction from 0 to 1"):
        compare_reports(report(), report(), **{name: bound})


@pytest.mark.parametrize(
    "field, ours, theirs",
    [
        ("name", report(), report(name="lexer")),
        ("model_profile", with_provenance(model_profile="qwen"), with_provenance(model_profile="llama")),
        ("model_profile", report(), with_provenance(model_profile="llama")),
    ],
)
def test_a_pin_that_differs_fails_unless_it_is_allowed(field: str, ours: LoadedReport, theirs: LoadedReport) -> None:
    verdict = compare_reports(ours, theirs)
    assert not verdict.is_met
    assert verdict.comparison.reasons[0].startswith(f"{field} differs: ")
    assert compare_reports(ours, theirs, allowed=[field]).comparison.passed


def test_a_steered_session_does_not_join_an_unsteered_comparison() -> None:
    steered = with_provenance(intervention="layer 20", intervention_sha256="c" * 64)
    reasons = compare_reports(report(), steered).comparison.reasons
    assert [reason.split(" differs")[0] for reason in reasons] == ["intervention", "intervention_sha256"]
    assert compare_reports(report(), steered, allowed=["intervention", "intervention_sha256"]).is_met


@pytest.mark.parametrize("field, value", [("checkpoint", "x@1"), ("trainer", "grpo"), ("seed", 7)])
def test_training_may_differ(field: str, value: object) -> None:
    assert compare_reports(report(), with_provenance(**{field: value})).comparison.passed


def test_an_unknown_field_to_allow_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"'intervenion' is no field .* did you mean 'intervention'"):
        compare_reports(report(), report(), allowed=["intervenion"])


@pytest.mark.parametrize("role", ["baseline", "candidate"])
def test_a_report_about_a_fault_is_no_evidence(role: str) -> None:
    reports = {"baseline": report(), "candidate": report(), role: report(fault_owner="harness")}
    verdict = compare_reports(**reports)
    assert (verdict.is_met, verdict.has_evidence, verdict.comparison.passed) == (True, False, False)
    assert verdict.comparison.reasons == (
        f"the {role} is no evidence about the model: what failed is owned by harness",
    )
    assert compare_reports(**reports, allowed=["fault_owner"]).comparison.passed


def test_the_comparison_is_canonical_json_with_a_line_feed() -> None:
    compared = compare_reports(report(), report(score=0.5), minimum_score=0.25).comparison
    written = compared.to_bytes()
    assert written.endswith(b"}\n")
    assert json.loads(written) == {
        "schema": "chock.eval-comparison", "version": 1,
        "baseline": {"name": "parser", "score": 0.9, "sha256": report().sha256},
        "candidate": {"name": "parser", "score": 0.5, "sha256": report(score=0.5).sha256},
        "minimum_score": 0.25, "max_regression": 0, "delta": -0.4, "passed": False,
        "reasons": ["the candidate's score 0.5 is 0.4 below the baseline's 0.9; 0 is allowed"],
    }  # fmt: skip
