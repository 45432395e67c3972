"""The command line as a whole: every command by its name. Imports no command's libraries: `--help` must be quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import copy
from typing import Annotated

import typer

import pipeline
from pipeline.cli import (
    dataset_commands,
    eval_commands,
    eval_run_commands,
    run_commands,
    session_commands,
    store_commands,
)
from pipeline.cli.doctor_command import doctor
from pipeline.cli.exit_codes import guarded
from pipeline.cli.results_command import results
from pipeline.cli.run_command import run
from pipeline.cli.score_command import score_files
from pipeline.cli.scorers_command import list_scorers

_SETTINGS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="assay",
    help="Score datasets at scale: rows in, one committed Parquet result out.",
    epilog="Exit status: 0 done, 1 bad input, 2 fault, 3 gate not met, 4 nothing scored, 9 bad log, 130 interrupted.",
    no_args_is_help=True,
    context_settings=_SETTINGS,
    rich_markup_mode=None,
)
datasets = typer.Typer(
    help="Upload, list, show and read datasets.",
    no_args_is_help=True,
    context_settings=_SETTINGS,
    rich_markup_mode=None,
)
evals = typer.Typer(
    name="eval",
    help="Run, replay and check sessions of a coding agent, and compare two reports.",
    no_args_is_help=True,
    context_settings=_SETTINGS,
    rich_markup_mode=None,
)
sessions = typer.Typer(
    name="session",
    help="Run a session of a coding agent.",
    no_args_is_help=True,
    context_settings=_SETTINGS,
    rich_markup_mode=None,
)
store = typer.Typer(help="Check a store.", no_args_is_help=True, context_settings=_SETTINGS, rich_markup_mode=None)

app.command("run")(run)
app.command("score")(score_files)
app.add_typer(datasets, name="dataset")
app.command("runs")(run_commands.list_runs)
app.command("show")(run_commands.show)
app.command("results")(results)
app.command("scorers")(list_scorers)
app.command("cancel")(run_commands.cancel)
app.command("resume")(run_commands.resume)
app.command("gc")(store_commands.collect)
app.add_typer(evals, name="eval")
app.add_typer(sessions, name="session")
app.add_typer(store, name="store")
app.command("doctor")(doctor)

datasets.command("upload")(dataset_commands.upload)
datasets.command("list")(dataset_commands.list_datasets)
datasets.command("show")(dataset_commands.show)
datasets.command("read")(dataset_commands.read)
sessions.command("run")(session_commands.run)

evals.command("run")(eval_run_commands.run)
evals.command("replay")(eval_run_commands.replay)
evals.command("check")(eval_commands.check)
evals.command("compare")(eval_commands.compare)
store.command("check")(store_commands.check)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"assay {pipeline.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Score datasets at scale: rows in, one committed Parquet result out."""


def _as_far_as_asked(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the one command that is asked for: typer looks through the options of all that it has."""
    asked = arguments[0] if arguments else ""
    commands = [each for each in app.registered_commands if each.name == asked]
    groups = [each for each in app.registered_groups if each.name == asked]
    if not commands and not groups:  # help, or a name that is none: all are shown
        return app
    part = copy(app)
    part.registered_commands, part.registered_groups = commands, groups
    return part


def run_command_line(arguments: Sequence[str] | None) -> int:
    """Carry out one command line and return its exit status."""
    given = None if arguments is None else list(arguments)
    command = typer.main.get_command(_as_far_as_asked(sys.argv[1:] if given is None else given))
    return guarded(lambda: command.main(args=given, prog_name="assay", standalone_mode=False))
