"""Built-ins that read another column where they would read `expected`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.errors import InputError
from pipeline.functions import RemoteFunction

EXPECTED = "expected"


def read_expected_from(column: str, scorers: Iterable[Any]) -> list[Any]:
    """The scorers, built-ins with `column` in the place of `expected`; own functions and SQL name their columns."""
    return [_checked(_moved(scorer, column) if EXPECTED in _inputs(scorer) else scorer, column) for scorer in scorers]


def _inputs(scorer: Any) -> Sequence[str]:
    found: Sequence[str] = getattr(scorer, "inputs", ())
    return found


def _checked(scorer: Any, column: str) -> Any:
    if isinstance(scorer, RemoteFunction) and column != EXPECTED:
        required = [parameter.name for parameter in scorer.parameters if not parameter.has_default]
        if EXPECTED in required and column not in required:
            raise InputError(
                f"{scorer.name}() has a parameter {EXPECTED!r}, and the expected column is {column!r}: own functions "
                f"name the columns that they read, so call the parameter {column!r}"
            )
    return scorer


def _moved(scorer: Any, column: str) -> Any:
    if not hasattr(scorer, "to_json"):
        return scorer
    inputs = tuple(column if name == EXPECTED else name for name in scorer.inputs)
    return dataclasses.replace(scorer, inputs=inputs)
