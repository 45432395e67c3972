"""Built-ins that read another column where they would read `expected`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scorers import builtin_from_json

EXPECTED = "expected"


def read_expected_from(column: str, scorers: Iterable[Any]) -> list[Any]:
    """The scorers, built-ins with `column` in the place of `expected`; own functions and SQL name their columns."""
    return [_moved(scorer, column) if EXPECTED in getattr(scorer, "inputs", ()) else scorer for scorer in scorers]


def _moved(scorer: Any, column: str) -> Any:
    if not hasattr(scorer, "to_json"):
        return scorer
    inputs = [column if name == EXPECTED else name for name in scorer.inputs]
    return builtin_from_json({**scorer.to_json(), "inputs": inputs})
