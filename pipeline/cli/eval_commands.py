"""`assay eval check` and `assay eval compare`: what a session showed, and how it compares."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pipeline.cli import provenance_flags as provenance

FormatOption = Annotated[Literal["text", "json"], typer.Option("--format", help="text for people, json for programs.")]


def compare(
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help="The report of what was there before.")],
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help="The report that is judged.")],
    minimum_score: Annotated[
        float | None, typer.Option("--minimum-score", metavar="X", help="The least score, 0 to 1; default: none.")
    ] = None,
    max_regression: Annotated[
        float, typer.Option("--max-regression", metavar="X", help="How far below the baseline, 0 to 1.")
    ] = 0.0,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="FIELD", help="May differ: name, model_profile, …; repeatable."),
    ] = None,
    output: FormatOption = "text",
    _checkpoint: provenance.Checkpoint = None,
    _trainer: provenance.Trainer = None,
    _seed: provenance.Seed = None,
    _intervention: provenance.Intervention = None,
    _intervention_sha256: provenance.InterventionSha256 = None,
) -> int:
    """Compare two JSON reports; opens neither session.

    Exit status: 0 as good, 3 below a bound or of other pins, 4 where a report is no evidence about the model.
    """
    from pipeline.cli.comparison_view import print_comparison
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.screen import print_document
    from pipeline.session.compare import compare_reports, read_report

    ours, theirs = read_report(baseline), read_report(candidate)
    verdict = compare_reports(
        ours, theirs, minimum_score=minimum_score, max_regression=max_regression, allowed=allow or ()
    )
    if output == "json":
        print_document(verdict.comparison)
    else:
        print_comparison(verdict.comparison, ours, theirs)
    if not verdict.is_met:
        return ExitCode.GATE_NOT_MET
    return ExitCode.DONE if verdict.has_evidence else ExitCode.NOT_ENOUGH
