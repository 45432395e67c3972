"""Scores tables: columns in, a value, an error and metadata a row out. Knows nothing of runs, stores or Ray.

Importing this package loads nothing else; a name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorers._contains import contains
    from scorers._exact_match import exact_match
    from scorers._json_match import json_match
    from scorers._json_valid import json_valid
    from scorers._levenshtein import levenshtein
    from scorers._numeric_close import numeric_close
    from scorers._regex_match import regex_match
    from scorers._sql import SqlExpression, sql
    from scorers._string_similarity import string_similarity
    from scorers.base import ScoreColumns, Scorer
    from scorers.builtins import BUILTINS, builtin_from_json
    from scorers.result import EvaluationScorerResult

__all__ = [
    "BUILTINS",
    "EvaluationScorerResult",
    "ScoreColumns",
    "Scorer",
    "SqlExpression",
    "builtin_from_json",
    "contains",
    "exact_match",
    "json_match",
    "json_valid",
    "levenshtein",
    "numeric_close",
    "regex_match",
    "sql",
    "string_similarity",
]

_MODULES = {
    "BUILTINS": "builtins",
    "EvaluationScorerResult": "result",
    "ScoreColumns": "base",
    "Scorer": "base",
    "SqlExpression": "_sql",
    "builtin_from_json": "builtins",
}
"""Where a name lives; a scorer lives in the private module of its name."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'scorers' has no attribute {name!r}")
    return getattr(importlib.import_module(f"scorers.{_MODULES.get(name, f'_{name}')}"), name)


def __dir__() -> list[str]:
    return __all__
