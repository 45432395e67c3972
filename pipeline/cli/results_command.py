"""`assay results RUN`: the rows of a result, filtered, in the form one needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import options

if TYPE_CHECKING:
    from pipeline.evaluation.results import ResultFolder
    from pipeline.evaluation.where import ReadTally
    from pipeline.store import Store


def results(
    run: options.ResultArgument,
    failed: Annotated[bool, typer.Option("--failed", help="Only rows on which the output or a scorer failed.")] = False,
    scorer: Annotated[
        str | None, typer.Option("--scorer", "-s", metavar="S", help="Look at this scorer alone.")
    ] = None,
    below: Annotated[
        float | None, typer.Option("--below", metavar="X", help="Only rows that --scorer gave less than X.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="SQL", help="Only rows of which this is true: \"__assay_owner = 'model'\"."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", metavar="C", help="Only this column, in this order; repeatable."),
    ] = None,
    limit: options.LimitOption = None,
    files: Annotated[
        bool, typer.Option("--files", help="Print the paths of the result's files, nothing else.")
    ] = False,
    form: options.FormatOption = "table",
    output: options.OutputOption = None,
    store: options.StoreOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> int:
    """Print the rows of a result, or the paths of its files. --json: the summary, as at the end of a run."""
    from pipeline.cli.exit_codes import ExitCode, tell
    from pipeline.cli.result_rows import RowFilter, result_rows
    from pipeline.cli.row_output import N_IN_TABLE, print_rows
    from pipeline.cli.screen import print_json
    from pipeline.evaluation.where import ReadTally
    from pipeline.store import open_store

    opened = open_store(store)
    folder = find_folder(opened, run)
    if files:
        found = folder.files()
        print_json(found) if as_json else print("\n".join(found))
        return ExitCode.DONE
    if as_json:
        print_json(_summary_json(opened, run, folder))
        return ExitCode.DONE
    tally = ReadTally()
    wanted = RowFilter(failed, scorer, below, where, tuple(column or ()))
    shown = print_rows(result_rows(folder, wanted, tally, for_eyes=form == "table"), form, output, limit)
    if where is not None and not quiet:
        tell(str(tally))
    _tell_what_is_missing(tally, is_cut=form == "table" and limit is None and shown == N_IN_TABLE)
    return ExitCode.DONE


def _tell_what_is_missing(tally: ReadTally, *, is_cut: bool) -> None:
    from pipeline.cli.exit_codes import tell
    from pipeline.cli.row_output import N_IN_TABLE

    if tally.failed_rows:
        tell(f"--where failed on {tally.failed_rows} rows, which are left out")
    if is_cut:
        tell(f"the first {N_IN_TABLE} rows; --limit N shows more, --format csv|jsonl|parquet all of them")


def find_folder(store: Store, text: str) -> ResultFolder:
    """The folder that a RUN argument stands for. Raises EvaluationNotFoundError, InputError."""
    from pipeline.cli.lookup import find_run_id, is_result_folder
    from pipeline.evaluation.results import ResultFolder
    from pipeline.store import Store

    if is_result_folder(text):
        return ResultFolder(Store(text), "")
    return ResultFolder(store, f"runs/{find_run_id(store, text)}")


def _summary_json(store: Store, text: str, folder: ResultFolder) -> dict[str, object]:
    from pipeline.cli.execution import unfinished_json
    from pipeline.cli.summary_view import Finished
    from pipeline.errors import DatasetError
    from pipeline.evaluation import EvaluationClient

    outcome = folder.outcome()
    if folder.prefix:
        run = EvaluationClient(store).get_run(folder.prefix.removeprefix("runs/"))
        return Finished.of_run(run, folder.files(), None).to_json() if run.summary else unfinished_json(run)
    if outcome is None:
        folder.plan()  # says so where none is there
        raise DatasetError(f"{text} has no result yet: type the same `assay score` again to go on with it")
    return Finished.of_folder(outcome, folder.where, folder.files()).to_json()
