"""A built-in scorer as `assay scorers` shows it."""

from __future__ import annotations

import json
from typing import Any

from pipeline.cli.screen import print_facts, print_table
from scorers.builtins import BuiltinInfo, OptionInfo


def print_builtin(info: BuiltinInfo) -> None:
    """What a built-in takes and records, for people."""
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
    print_table(["option", "default", "meaning"], rows, whole=("option",), prose=("default", "meaning"))


def _example(info: BuiltinInfo) -> str:
    required = [option for option in info.options if option.is_required]
    if not required:
        return info.name
    return f"'{info.name}:{json.dumps({option.name: '…' for option in required}, ensure_ascii=False)}'"


def _default(option: OptionInfo) -> str:
    return "required" if option.is_required else json.dumps(option.default)


def info_json(info: BuiltinInfo) -> dict[str, Any]:
    """What a built-in takes and records, for programs."""
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
