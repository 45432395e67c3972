"""Compares the reports of two sessions. Opens neither session."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.records.comparison import ComparedReport, Comparison
from pipeline.records.names import nearest
from pipeline.records.report import LoadedReport, Report, load_report
from pipeline.store import input_size, open_input

MAX_BYTES = 256 << 20  # of a report: a thousand commands with the output of each are a tenth of it
TOLERANCE = 1e-9  # of scores: fractions of different denominators do not subtract exactly

PINNED = ("name", "model_profile", "intervention", "intervention_sha256")
"""What must be equal in both reports, unless it is allowed to differ."""

FAULT = "fault_owner"
"""May be allowed too: a report whose failures are not the model's is then compared all the same."""


class Verdict(NamedTuple):
    """A comparison, and why it passed or did not."""

    comparison: Comparison
    is_met: bool
    """Whether the scores keep the bounds and the pins are equal."""
    has_evidence: bool
    """Whether both reports are about the model; if not, equal scores say nothing."""


def compare_reports(
    baseline: LoadedReport,
    candidate: LoadedReport,
    *,
    minimum_score: float | None = None,
    max_regression: float = 0.0,
    allowed: Iterable[str] = (),
) -> Verdict:
    """Judge a candidate by its baseline.

    Args:
        baseline: what was there before.
        candidate: what is to be judged.
        minimum_score: the least score of the candidate, 0 to 1; None: no floor.
        max_regression: how far the candidate may be below the baseline, 0 to 1.
        allowed: of `PINNED` and `FAULT`, what does not count.

    Raises:
        InputError: a bound outside [0, 1], or an `allowed` that is not known.
    """
    if minimum_score is not None:
        _check_bound("minimum_score", minimum_score)
    _check_bound("max_regression", max_regression)
    free = _check_allowed(allowed)
    unmet = [
        *_below(baseline.report, candidate.report, minimum_score, max_regression),
        *_differing(baseline.report, candidate.report, free),
    ]
    faults = [] if FAULT in free else _faults(baseline, candidate)
    comparison = Comparison(
        baseline=_compared(baseline),
        candidate=_compared(candidate),
        minimum_score=minimum_score,
        max_regression=max_regression,
        delta=candidate.report.score - baseline.report.score,
        passed=not unmet and not faults,
        reasons=(*unmet, *faults),
    )
    return Verdict(comparison, not unmet, not faults)


def read_report(path: str | os.PathLike[str]) -> LoadedReport:
    """Read a report from a file or URL.

    Raises:
        InputError: no such file, a pipe or device, too large, or no report of this version; names what is wrong.
        DeniedError: no permission.
    """
    where = os.fspath(path)
    size = input_size(where)
    if size > MAX_BYTES:
        raise InputError(f"{where}: has {size:,} bytes, more than the {MAX_BYTES:,} that a report may have")
    with open_input(where) as file:
        return load_report(file.read(), where)


def pinned_value(report: Report, field: str) -> str | int | None:
    """A field of a report by which two of them are compared; those of an absent provenance are null."""
    if field == "name":
        return report.name
    value: str | int | None = getattr(report.provenance, field, None)
    return value


def _check_bound(name: str, value: float) -> None:
    if not (math.isfinite(value) and 0 <= value <= 1):
        raise InputError(f"{name} is {value}; expected a fraction from 0 to 1")


def _check_allowed(allowed: Iterable[str]) -> frozenset[str]:
    free = frozenset(allowed)
    for field in sorted(free.difference(PINNED, [FAULT])):
        raise InputError(f"{field!r} is no field that can be allowed to differ{nearest(field, (*PINNED, FAULT))}")
    return free


def _below(baseline: Report, candidate: Report, minimum: float | None, max_regression: float) -> Iterable[str]:
    if minimum is not None and candidate.score < minimum - TOLERANCE:
        yield f"the candidate's score {candidate.score:.6g} is below the floor of {minimum:.6g}"
    drop = baseline.score - candidate.score
    if drop > max_regression + TOLERANCE:
        yield (
            f"the candidate's score {candidate.score:.6g} is {drop:.6g} below the baseline's {baseline.score:.6g}; "
            f"{max_regression:.6g} is allowed"
        )


def _differing(baseline: Report, candidate: Report, free: frozenset[str]) -> Iterable[str]:
    for field in PINNED:
        ours, theirs = pinned_value(baseline, field), pinned_value(candidate, field)
        if ours != theirs and field not in free:
            yield f"{field} differs: {_quoted(ours)} and {_quoted(theirs)}; --allow {field} compares them all the same"


def _faults(baseline: LoadedReport, candidate: LoadedReport) -> list[str]:
    return [
        f"the {role} is no evidence about the model: what failed is owned by {loaded.report.fault_owner}"
        for role, loaded in (("baseline", baseline), ("candidate", candidate))
        if loaded.report.fault_owner is not None
    ]


def _compared(loaded: LoadedReport) -> ComparedReport:
    return ComparedReport(name=loaded.report.name, score=loaded.report.score, sha256=loaded.sha256)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
