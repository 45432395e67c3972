"""A comparison of two reports, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.cli.screen import Cell, paint, print_table, printable

if TYPE_CHECKING:
    from pipeline.records.comparison import Comparison
    from pipeline.records.report import LoadedReport, Report

_SHOWN = ("model_profile", "checkpoint", "trainer", "seed", "intervention", "intervention_sha256")
_PINS = ("spec_sha256", "base_commit", "config_sha256", "sandbox_sha256", "sandbox_driver", "fault_owner")


def print_comparison(comparison: Comparison, baseline: LoadedReport, candidate: LoadedReport) -> None:
    """Both reports side by side, then the reasons, then the decision."""
    ours, theirs = baseline.report, candidate.report
    rows: list[list[Cell]] = [
        ["report", baseline.where, candidate.where],
        ["name", ours.name, theirs.name],
        ["score", ours.score, theirs.score],
        ["reward", ours.reward, theirs.reward],
        *_provenance(ours, theirs),
        *([field, getattr(ours, field), getattr(theirs, field)] for field in _PINS if _differs(ours, theirs, field)),
    ]
    cleaned = [[printable(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    print_table(["", "baseline", "candidate"], cleaned, prose=("baseline", "candidate"))
    print()
    for reason in comparison.reasons:
        print(paint(printable(f"- {reason}"), "red"))
    floor = "" if comparison.minimum_score is None else f", floor {comparison.minimum_score:g}"
    decision = paint("passed", "green") if comparison.passed else paint("failed", "red")
    print(f"{decision}: {comparison.delta:+.4f} (at most {comparison.max_regression:g} below{floor})")


def _provenance(ours: Report, theirs: Report) -> list[list[Cell]]:
    pairs = [
        (field, getattr(ours.provenance, field, None), getattr(theirs.provenance, field, None)) for field in _SHOWN
    ]
    # As text: a seed is no count.
    return [
        [field, *(None if value is None else str(value) for value in values)]
        for field, *values in pairs
        if values != [None, None]
    ]


def _differs(ours: Report, theirs: Report, field: str) -> bool:
    return bool(getattr(ours, field) != getattr(theirs, field))
