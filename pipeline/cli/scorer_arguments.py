"""Scorers as they are written on a command line or in a config, made into scorers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.errors import InputError
from pipeline.records.names import nearest, slug

if TYPE_CHECKING:
    from pipeline.records.run_config import LoadedConfig

_FUNCTION = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)(?::(?P<options>.*))?\Z", re.DOTALL)
_FUNCTION_OPTIONS = ("name",)


class NamedScorer(NamedTuple):
    """A scorer, and how the user wrote it."""

    scorer: Any
    written: str
    """For messages: `-s exact_match`, or `config.yaml:7`."""
    renamed: str
    """How it would be written with another name."""


def scorers_from_options(used: Sequence[str], sql: Sequence[str]) -> list[Any]:
    """The scorers of `-s` and `--sql`, in that order.

    Args:
        used: `exact_match`, `levenshtein:{"name": "lev"}`, `my_scorers.py:fn`, `my_scorers.py:fn:{"name": "x"}`.
        sql: `NAME=EXPRESSION`.

    Raises:
        InputError: none, two of one name, no JSON, or a scorer or option that is not known (with the nearest).
    """
    found = [*(_used(text) for text in used), *(_sql(text) for text in sql)]
    if not found:
        raise InputError(
            "no scorer is given: add -s SCORER or --sql NAME=EXPRESSION; `assay scorers` lists the built-in ones"
        )
    return distinct(found)


def scorers_from_config(loaded: LoadedConfig, folder: Path) -> list[Any]:
    """The scorers of a config; functions are looked for from the folder of the config."""
    from pipeline.records.run_config import FunctionEntry, SqlEntry
    from scorers import sql

    found = []
    for entry, line in zip(loaded.config.scorers, loaded.scorer_lines, strict=True):
        place = f"{loaded.where}:{line}"
        try:
            if isinstance(entry, FunctionEntry):
                scorer = _function(entry.function, entry.name, folder)
                renamed = f"{{function: {entry.function}, name: NAME}}"
            elif isinstance(entry, SqlEntry):
                scorer, renamed = sql(entry.name, entry.sql), "{sql: …, name: NAME}"
            else:
                given = {"name": entry.name, "inputs": entry.inputs, **entry.options}
                scorer = _builtin(entry.use, {key: value for key, value in given.items() if value is not None})
                renamed = f"{{use: {entry.use}, name: NAME}}"
        except (ValueError, TypeError) as error:
            raise InputError(f"{place}: {error}") from error
        found.append(NamedScorer(scorer, place, renamed))
    return distinct(found)


def distinct(found: Iterable[NamedScorer]) -> list[Any]:
    """The scorers, if their names differ, also as folders.

    Raises:
        InputError: two of one name; the message shows how to write the second.
    """
    by_name: dict[str, NamedScorer] = {}
    for named in found:
        key = slug(named.scorer.name)
        if key in by_name:
            other = re.sub(r"\bNAME\b", f"{named.scorer.name}-2", named.renamed)
            raise InputError(
                f"two scorers are called {named.scorer.name!r} ({by_name[key].written} and {named.written}): "
                f"give the second another name, as in {other}"
            )
        by_name[key] = named
    return [named.scorer for named in by_name.values()]


def scorer_names(scorers: Iterable[Any]) -> list[str]:
    """The names that label their result columns."""
    return [scorer.name for scorer in scorers]


def _used(text: str) -> NamedScorer:
    match = _FUNCTION.match(text)
    if match:
        options = _options(match["options"], text)
        unknown = [name for name in options if name not in _FUNCTION_OPTIONS]
        if unknown:
            raise InputError(f"-s {text}: an own scorer takes the option name only, found {unknown[0]!r}")
        reference = f"{match['path']}:{match['name']}"
        scorer = _function(reference, options.get("name"), Path())
        return NamedScorer(scorer, f"-s {reference}", f"""-s '{reference}:{{"name":"NAME"}}'""")
    name, _, rest = text.partition(":")
    if name.strip().endswith(".py"):
        raise InputError(f"-s {text!r} names a file and no function: add :FUNCTION, as in -s {f'{name}:my_scorer'!r}")
    options = _options(rest, text)
    try:
        scorer = _builtin(name.strip(), options)
    except (ValueError, TypeError) as error:
        raise InputError(f"-s {text}: {error}") from error
    return NamedScorer(scorer, f"-s {name}", f"""-s '{name}:{{"name":"NAME"}}'""")


def _sql(text: str) -> NamedScorer:
    from scorers import sql

    name, separator, expression = text.partition("=")
    if not separator or not name.strip() or not expression.strip():
        raise InputError(f"""--sql {text!r} is not NAME=EXPRESSION, as in --sql 'size=length("output")'""")
    return NamedScorer(sql(name, expression), f"--sql {name}", "--sql 'NAME=…'")


def _options(text: str | None, written: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        options = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"""-s {written}: the options are not JSON ({error}); write them as in -s 'contains:{{"mode":"any"}}'"""
        ) from None
    if not isinstance(options, dict):
        raise InputError(f"""-s {written}: the options are {type(options).__name__}, expected {{"option": value}}""")
    return options


def _builtin(name: str, options: dict[str, Any]) -> Any:
    from scorers import BUILTINS
    from scorers.builtins import make_builtin

    if name not in BUILTINS:
        raise InputError(f"there is no built-in scorer {name!r}{nearest(name, BUILTINS)}")
    return make_builtin(name, options)


def _function(reference: str, name: str | None, folder: Path) -> Any:
    from pipeline.functions import load_function_reference

    loaded = load_function_reference(reference, folder)
    return loaded if name is None else loaded.renamed(name)
