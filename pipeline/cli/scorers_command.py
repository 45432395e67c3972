"""`assay scorers [NAME]`: the built-in scorers, their options, defaults and metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli import options
from pipeline.errors import InputError

if TYPE_CHECKING:
    from scorers.builtins import BuiltinInfo, OptionInfo


def list_scorers(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One built-in.")] = None,
    as_json: options.JsonOption = False,
) -> int:
    """List the built-in scorers, or show what one of them takes and records."""
    from pipeline.cli.exit_codes import ExitCode
    from pipeline.cli.screen import print_json, print_table
    from pipeline.records.names import nearest
    from scorers import BUILTINS

    if name is not None and name not in BUILTINS:
        raise InputError(f"there is no built-in scorer {name!r}{nearest(name, BUILTINS)}")
    chosen = [BUILTINS[name]] if name is not None else list(BUILTINS.values())
    if as_json:
        print_json([_info_json(info) for info in chosen])
    elif name is not None:
        _print_one(chosen[0])
    else:
        rows = [[info.name, ", ".join(info.default_inputs), ", ".join(_written(info)), info.doc] for info in chosen]
        print_table(["scorer", "reads", "options", "what it measures"], rows)
        print("\nmore: assay scorers NAME; own ones: -s my_scorers.py:fn; SQL: --sql 'NAME=EXPRESSION'")
    return ExitCode.DONE


def _written(info: BuiltinInfo) -> list[str]:
    return [option.name for option in info.options]


def _print_one(info: BuiltinInfo) -> None:
    from pipeline.cli.screen import print_facts, print_table

    print(f"{info.name}: {info.doc}\n")
    print_facts(
        [
            ("called", info.default_name),
            ("reads", ", ".join(info.default_inputs)),
            ("records", ", ".join(info.metadata) or None),
            ("as in", f"-s {_example(info)}"),
        ]
    )
    rows = [["name", json.dumps(info.default_name), "labels the result columns"]]
    rows += [["inputs", json.dumps(list(info.default_inputs)), "the columns it reads"]]
    rows += [[option.name, _default(option), option.doc] for option in info.options]
    print()
    print_table(["option", "default", "meaning"], rows)


def _example(info: BuiltinInfo) -> str:
    required = [option for option in info.options if option.is_required]
    if not required:
        return info.name
    return f"'{info.name}:{json.dumps({option.name: '…' for option in required}, ensure_ascii=False)}'"


def _default(option: OptionInfo) -> str:
    return "required" if option.is_required else json.dumps(option.default)


def _info_json(info: BuiltinInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "doc": info.doc,
        "default_name": info.default_name,
        "inputs": list(info.default_inputs),
        "options": [
            {"name": option.name, "required": option.is_required, "doc": option.doc}
            | ({} if option.is_required else {"default": option.default})
            for option in info.options
        ],
        "metadata": list(info.metadata),
    }
