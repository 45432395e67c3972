"""What a scorer of one's own returns: a checked score and what it wants to record beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EvaluationScorerResult:
    """One score and its metadata, checked when it is made.

    Raises:
        TypeError: the score is no number (text, bool and None are none), or the metadata is no JSON object.
        ValueError: the score is not finite, or outside [0, 1].
    """

    score: float
    """In [0, 1]; anything with `__float__` is converted."""
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    """A JSON object, or None for nothing to record. Kept as a shallow copy."""
    metadata_json: str | None = field(init=False, repr=False, compare=False)
    """The metadata as it is stored: JSON text with sorted keys, no spaces, ASCII-escaped; None without metadata."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", _checked_score(self.score))
        if self.metadata is None:
            object.__setattr__(self, "metadata_json", None)
            return
        if not isinstance(self.metadata, Mapping):
            raise TypeError(f"metadata must be a mapping with text keys or None, found {_type_name(self.metadata)}")
        metadata = dict(self.metadata)
        object.__setattr__(self, "metadata", metadata)
        object.__setattr__(self, "metadata_json", metadata_json(metadata))


def metadata_json(metadata: Mapping[str, Any]) -> str:
    """The stored text of metadata.

    Raises:
        TypeError: a key that is not text, or a value that JSON cannot carry (NaN and infinities included).
    """
    for key in metadata:
        if not isinstance(key, str):
            raise TypeError(f"metadata keys must be text, found {key!r} ({_type_name(key)})")
    try:
        return json.dumps(metadata, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"metadata must be JSON: {error}; convert the value to text, a number or a list first"
        ) from error


def number_of(value: object) -> float:
    """The float of a number: int, float, Decimal, a numpy scalar, anything with `__float__`; finite or not.

    Raises:
        TypeError: no number; text, bool, None, lists and arrays are none.
        ValueError: an integer too big for a float.
    """
    # Arrays and text have a length, numbers have not; numpy names its own bool `bool_` or `bool`.
    is_number = hasattr(value, "__float__") or hasattr(value, "__index__")
    if not is_number or hasattr(value, "__len__") or type(value).__name__ in ("bool", "bool_"):
        raise TypeError(f"a score must be a number, found {_type_name(value)}")
    try:
        return float(value)  # type: ignore[arg-type]  # seen above to be convertible
    except OverflowError:
        raise ValueError("a score must be in [0, 1], found an integer too big for a float") from None


def _checked_score(value: object) -> float:
    score = number_of(value)
    if not math.isfinite(score):
        raise ValueError(f"a score must be finite, found {score}")
    if not 0.0 <= score <= 1.0:
        raise ValueError(f"a score must be in [0, 1], found {score!r}; scale it first")
    return score


def _type_name(value: object) -> str:
    return type(value).__name__
