"""What functions of one's own answered, as columns. Knows nothing of how they are called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from scorers.base import TEXT_TYPE, VALUE_TYPE, VALUES_TYPE, ScoreColumns
from scorers.result import EvaluationScorerResult, number_of


@dataclass(frozen=True)
class RowFailure:
    """Stands for the answer of a row that could not be scored."""

    message: str


def columns_of(outcomes: Sequence[object], *, is_list: bool = False) -> ScoreColumns:
    """The columns of a scorer that answers one outcome a row.

    Args:
        outcomes: numbers (bools too), `EvaluationScorerResult`s, lists of either, None (no score), or `RowFailure`s.
            Anything else, NaN and infinities are the row's error; a number outside [0, 1] is kept.
        is_list: whether the scorer is one that returns lists, so that `values` is there though no row has one.

    Returns:
        A list's value is the mean of its scores, null for an empty one; its scores and metadata are in `values`.
    """
    rows = [_row_of(outcome) for outcome in outcomes]
    has_lists = is_list or any(row.values is not None for row in rows)
    return ScoreColumns(
        value=pa.array([row.value for row in rows], VALUE_TYPE),
        error=pa.array([row.error for row in rows], TEXT_TYPE),
        metadata=pa.array([row.metadata for row in rows], TEXT_TYPE),
        values=pa.array([row.values for row in rows], VALUES_TYPE) if has_lists else None,
    )


@dataclass(frozen=True)
class _Row:
    value: float | None = None
    error: str | None = None
    metadata: str | None = None
    values: list[dict[str, object]] | None = None


def _row_of(outcome: object) -> _Row:
    if outcome is None:
        return _Row()
    if isinstance(outcome, RowFailure):
        return _Row(error=outcome.message)
    try:
        if isinstance(outcome, list):
            return _list_row(outcome)
        value, metadata = _score_of(outcome)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # `__float__` is the user's code, which may raise anything, or exit
        return _Row(error=_text_of(error))
    return _Row(value=value, metadata=metadata)


def _text_of(error: BaseException) -> str:
    if type(error) in (TypeError, ValueError):
        return str(error)
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001  # `__str__` is the user's code too
        return type(error).__name__


def _list_row(items: list[object]) -> _Row:
    pairs = [_score_of(item) for item in items]
    values: list[dict[str, object]] = [{"score": score, "metadata": metadata} for score, metadata in pairs]
    mean = math.fsum(score for score, _ in pairs) / len(pairs) if pairs else None
    return _Row(value=mean, values=values)


def _score_of(outcome: object) -> tuple[float, str | None]:
    if isinstance(outcome, EvaluationScorerResult):
        return outcome.score, outcome.metadata_json
    try:
        value = float(outcome) if isinstance(outcome, bool) else number_of(outcome)
    except TypeError:
        raise TypeError(
            "a scorer must return a number, an EvaluationScorerResult, a list of them, or None, "
            f"found {type(outcome).__name__}"
        ) from None
    if not math.isfinite(value):
        raise ValueError(f"the scorer returned {value}, which is no score; return None for no score")
    return value, None
