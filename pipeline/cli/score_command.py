"""`assay score FILE…`: answers that are there already, scored into a plain folder or as a registered run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pipeline.cli import options
from pipeline.errors import FunctionSignatureError, InputError

if TYPE_CHECKING:
    from pipeline.cli.execution import Shown
    from pipeline.evaluation.carry_out import RunOptions
    from pipeline.evaluation.score_files import FileScoring, PreparedFolder


DRY_RUN = "memory://assay-dry-score"  # so that a dry run leaves nothing behind

FilesArgument = Annotated[list[str], typer.Argument(metavar="FILE…", help="Parquet, CSV, JSONL: paths, globs, URLs.")]
OutputColumnOption = Annotated[str, typer.Option("--output-column", metavar="COLUMN", help="Holds what is scored.")]
ExpectedColumnOption = Annotated[
    str | None,
    typer.Option("--expected-column", metavar="COLUMN", help="Holds what scorers of two columns compare it with."),
]
ScorerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scorer", "-s", metavar="SCORER[:JSON]", help="A built-in with options, or my_scorers.py:fn; repeatable."
    ),
]
SqlOption = Annotated[list[str] | None, typer.Option("--sql", metavar="NAME=EXPR", help="A SQL scorer; repeatable.")]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="FOLDER", help="Write a plain result folder (path or URL).")
]


def score_files(
    files: FilesArgument,
    output_column: OutputColumnOption = "output",
    expected_column: ExpectedColumnOption = None,
    scorer: ScorerOption = None,
    sql: SqlOption = None,
    to: ToOption = None,
    store: options.StoreOption = None,
    limit: options.LimitOption = None,
    engine: options.EngineOption = None,
    ray_address: options.RayAddressOption = None,
    workers: options.WorkersOption = None,
    partition_by: options.PartitionOption = None,
    column_type: options.TypeOption = None,
    delimiter: options.DelimiterOption = ",",
    part_rows: options.PartRowsOption = None,
    fail_under: options.FailUnderOption = None,
    max_failures: options.MaxFailuresOption = None,
    part_timeout: options.PartTimeoutOption = None,
    memory_limit: options.MemoryLimitOption = None,
    new: options.NewOption = False,
    dry_run: options.DryRunOption = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> int:
    """Score answers that are in files already.

    With --to the result is a plain folder; without, a run of the store. The same command continues what was stopped.
    """
    from pipeline.cli.dataset_arguments import expand_paths, parse_types
    from pipeline.cli.execution import Shown
    from pipeline.cli.gates import parse_floors
    from pipeline.cli.scorer_arguments import scorer_names, scorers_from_options
    from pipeline.evaluation.carry_out import RunOptions
    from pipeline.evaluation.score_files import FileScoring
    from pipeline.functions import memory_bytes

    place = _Place(to, store, new, dry_run)
    place.check()
    scorers = scorers_from_options(scorer or (), sql or ())
    shown = Shown(as_json, quiet, parse_floors(fail_under, scorer_names(scorers)))
    typing: dict[str, Any] = {"column_types": parse_types(column_type), "delimiter": delimiter}
    cut: dict[str, Any] = {"limit": limit, "part_rows": part_rows, "partition_by": tuple(partition_by or ())}
    named: dict[str, Any] = {"output_column": output_column, "expected_column": expected_column}
    scoring = FileScoring(files=expand_paths(files, Path()), scorers=scorers, **named, **typing, **cut)
    memory = None if memory_limit is None else memory_bytes("--memory-limit", memory_limit)
    bounds: dict[str, Any] = {"part_timeout_s": part_timeout, "memory_limit": memory}
    return _carry_out(scoring, place, RunOptions(engine or "auto", ray_address, workers, max_failures, **bounds), shown)


class _Place(NamedTuple):
    """Where the result goes."""

    to: str | None
    store: str | None
    new: bool
    dry_run: bool
    """Nowhere."""

    def check(self) -> None:
        if self.to is not None and (self.store is not None or self.new):
            raise InputError(
                "--to writes a plain folder that belongs to no store, so that --store and --new have no place beside "
                "it: give another folder, or leave out --to"
            )


def _carry_out(scoring: FileScoring, place: _Place, chosen: RunOptions, shown: Shown) -> int:
    from pipeline.cli.dataset_arguments import told_as_option
    from pipeline.cli.execution import show_preview
    from pipeline.evaluation.score_files import prepare_folder

    if scoring.column_types and all(file.lower().endswith(".parquet") for file in scoring.files):
        raise InputError("--type is for CSV and JSON Lines; Parquet has types of its own: leave it out")
    with told_as_option(), _told_of_expected_column(scoring.expected_column):
        if place.dry_run:
            return show_preview(prepare_folder(scoring, DRY_RUN).preview(chosen), as_json=shown.as_json)
        if place.to is not None:
            return _score_into_folder(prepare_folder(scoring, place.to), chosen, shown)
        return _score_into_store(place.store, scoring, chosen, shown, new=place.new)


@contextmanager
def _told_of_expected_column(given: str | None) -> Iterator[None]:
    """Where a scorer looks for a column `expected` in vain, say how to name another."""
    try:
        yield
    except FunctionSignatureError as error:
        if given is None and "'expected'" in str(error):
            raise InputError(f"{error}; name the column with --expected-column") from error
        raise


def _score_into_store(store: str | None, scoring: FileScoring, chosen: RunOptions, shown: Shown, *, new: bool) -> int:
    from pipeline.cli.execution import follow_run
    from pipeline.evaluation import EvaluationClient
    from pipeline.evaluation.score_files import score_registered

    client = EvaluationClient(store)
    return follow_run(
        client,
        lambda on_progress: score_registered(
            client,
            scoring,
            engine=chosen.engine,
            ray_address=chosen.ray_address,
            workers=chosen.workers,
            max_failures=chosen.max_failures,
            part_timeout_s=chosen.part_timeout_s,
            memory_limit=chosen.memory_limit,
            on_progress=on_progress,
            new=new,
        ),
        shown,
        store=store,
    )


def _score_into_folder(prepared: PreparedFolder, chosen: RunOptions, shown: Shown) -> int:
    from dataclasses import replace

    from pipeline.cli.gates import judge
    from pipeline.cli.interruption import ctrl_c
    from pipeline.cli.progress import ProgressDisplay
    from pipeline.cli.summary_view import Finished, print_finished
    from pipeline.engine import StopSignal

    stop = StopSignal()
    with ProgressDisplay(quiet=shown.quiet) as display, ctrl_c(stop.stop, stop.kill):
        outcome = prepared.carry_out(replace(chosen, on_progress=display), stop)
    finished = Finished.of_folder(outcome, prepared.folder.where, prepared.folder.files(), display.rows_here)
    print_finished(finished, as_json=shown.as_json)
    return judge(outcome.summary, shown.floors)
