"""`assay scorers [NAME]`: the built-in scorers, their options, defaults and metadata."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli import options
from pipeline.errors import InputError


def list_scorers(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One built-in.")] = None,
    as_json: options.JsonOption = False,
) -> int:
    """List the built-in scorers, or show what one of them takes and records."""
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.scorer_view import info_json, print_builtin
    from pipeline.cli.screen import print_json, print_table
    from pipeline.records.names import nearest
    from scorers import BUILTINS

    if name is not None and name not in BUILTINS:
        raise InputError(f"there is no built-in scorer {name!r}{nearest(name, BUILTINS)}")
    chosen = [BUILTINS[name]] if name is not None else list(BUILTINS.values())
    if as_json:
        print_json([info_json(info) for info in chosen])
    elif name is not None:
        print_builtin(chosen[0])
    else:
        rows = [
            [info.name, ", ".join(info.default_inputs), ", ".join(option.name for option in info.options), info.doc]
            for info in chosen
        ]
        prose = ("reads", "options", "what it measures")
        print_table(["scorer", "reads", "options", "what it measures"], rows, whole=("scorer",), prose=prose)
        print("\nmore: assay scorers NAME; own ones: -s my_scorers.py:fn; SQL: --sql 'NAME=EXPRESSION'")
    return ExitCode.DONE
