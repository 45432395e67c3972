"""`assay eval check` and `assay eval compare`: what a session showed, and how it compares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.cli import options
from pipeline.cli import provenance_flags as provenance
from pipeline.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.records.eval_spec import EvalSpec
    from pipeline.records.report import Report
    from pipeline.session.session_files import SessionLog
    from pipeline.session.spec_file import LoadedSpec
    from pipeline.store import Store

FormatOption = Annotated[Literal["text", "json"], typer.Option("--format", help="text for people, json for programs.")]


def check(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A .zon, .yaml or .json file: chock.eval version 1.")],
    session: Annotated[
        str, typer.Option("--session", metavar="ID|PATH", help="A session of the store, or the log of any.")
    ],
    project: Annotated[
        str | None, typer.Option("--project", metavar="DIR", help="In place of the spec's fixture.")
    ] = None,
    output: FormatOption = "text",
    skip_tests: Annotated[
        bool, typer.Option("--skip-tests", help="Do not run the spec's commands, and do not judge them.")
    ] = False,
    sandbox: Annotated[
        str | None,
        typer.Option("--sandbox", metavar="DRIVER", help="native, microvm or none; default: what the spec says."),
    ] = None,
    trajectory: options.TrajectoryOption = None,
    overwrite: options.OverwriteOption = False,
    store: options.StoreOption = None,
    _checkpoint: provenance.Checkpoint = None,
    _trainer: provenance.Trainer = None,
    _seed: provenance.Seed = None,
    _intervention: provenance.Intervention = None,
    _intervention_sha256: provenance.InterventionSha256 = None,
) -> int:
    """Judge a session that is already there: its log, the tree that it left, the spec's commands.

    Exit status: 0 every check passed, 1 bad input, 2 no sandbox here, or the capture of --trajectory was changed,
    3 a check failed, 9 the log cannot be verified.
    """
    import os

    import pipeline
    from pipeline.cli.trajectory_file import TrajectoryFile
    from pipeline.sandbox.drivers import driver_named
    from pipeline.session.check import CheckOptions, check_session
    from pipeline.session.session_files import session_log
    from pipeline.session.spec_file import load_spec
    from pipeline.store import open_store

    target = TrajectoryFile.asked_for(trajectory, overwrite=overwrite)
    loaded = load_spec(spec, "check")
    driver = None if sandbox is None else driver_named(sandbox)
    settings = CheckOptions(pipeline.__version__, os.environ, _folder(project), driver, skip_tests)
    tell_of_spec(loaded)
    opened = open_store(store)
    with session_log(session, opened) as log:
        tell_of_other(log, opened, loaded)
        bound = None if target is None else target.check(loaded, log, opened, settings)
        report = check_session(loaded, log, settings) if bound is None else bound.report
    if target is not None and bound is not None:
        target.write(bound)
    status = show_report(report, loaded.spec, output)
    if target is not None and bound is not None and output == "text":
        target.tell(bound)
    return status


def tell_of_spec(loaded: LoadedSpec) -> None:
    """Say on stderr what is odd about a spec, and yet allowed."""
    from pipeline.cli.exit_codes import tell
    from pipeline.cli.screen import printable
    from pipeline.session.spec_file import names_beyond_the_known

    for remark in names_beyond_the_known(loaded.spec):
        tell(printable(f"{loaded.path}: {remark}"))


def tell_of_other(log: SessionLog, store: Store, loaded: LoadedSpec) -> None:
    """Say on stderr that what was given as a log is something else, or was run with another spec than this one."""
    from pipeline.cli.exit_codes import tell
    from pipeline.cli.screen import printable
    from pipeline.session.other_files import why_no_log
    from pipeline.session.session_files import spec_digest_of

    if why := why_no_log(log.path):
        tell(printable(why))
    if spec_digest_of(log, store) not in (None, loaded.sha256):
        tell(f"session {log.session} was run with another spec than {printable(str(loaded.path))} as it is now")


def show_report(report: Report, spec: EvalSpec, output: str, remarks: Sequence[str] = ()) -> int:
    """Print a report, and what is known of the session beside it; the exit status that it stands for."""
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.report_view import print_report
    from pipeline.cli.screen import print_document
    from pipeline.session.evaluate import is_audit_gap

    if output == "json":
        print_document(report)
    else:
        print_report(report, spec.reward_weights.model_dump(), remarks)
    if is_audit_gap(report):
        return ExitCode.AUDIT_GAP
    return ExitCode.DONE if report.passed else ExitCode.GATE_NOT_MET


def _folder(project: str | None) -> Path | None:
    if project == "":  # such as a variable of the shell's that is not set: not the folder that one happens to be in
        raise InputError("--project is '', expected a folder")
    return None if project is None else Path(project)


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
