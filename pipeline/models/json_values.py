"""JSON as endpoints write it, read with care: what is not of the kind that is expected is told by name."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from pipeline.formats.whole_text import whole_text
from pipeline.models.trouble import not_an_answer
from pipeline.records.exchange import MAX_COUNT

SHOWN_CHARS = 200  # of what cannot be read


def parse(data: bytes) -> dict[str, Any]:
    """An object. NaN and infinities, which are no JSON and yet sent, are read.

    Raises:
        Trouble: anything else.
    """
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        found = _parse_loosely(data)
    if not isinstance(found, dict):
        raise not_an_answer(f"expected a JSON object, found {shown(data)}")
    return found


def _parse_loosely(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise not_an_answer(f"expected JSON, found {shown(data)}") from None


def shown(data: bytes) -> str:
    """The beginning of what was found, as text."""
    text = data[: SHOWN_CHARS + 1].decode("utf-8", "replace")
    return repr(text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…") if text else "nothing"


def text_of(value: Any, what: str) -> str:
    """Text that can be written as UTF-8; null is empty. Raises Trouble for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise not_an_answer(f"expected text as {what}, found {type(value).__name__}")
    return whole_text(value)


def name_of(value: Any) -> str:
    """What something calls itself; "" where it does not, or in no text: nothing depends on it."""
    return text_of(value, "name") if isinstance(value, str) else ""


def objects_of(value: Any, what: str) -> list[dict[str, Any]]:
    """A list of objects; null is empty. Raises Trouble for anything else."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise not_an_answer(f"expected a list of objects as {what}")
    return value


def object_of(value: Any, what: str) -> dict[str, Any]:
    """An object; null is an empty one. Raises Trouble for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise not_an_answer(f"expected an object as {what}, found {type(value).__name__}")
    return value


def count_of(value: Any) -> int | None:
    """A number of tokens; None: what stands there is none."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= MAX_COUNT else None


def ids_of(value: Any) -> tuple[int, ...] | None:
    """Token ids; None: what stands there are none."""
    if not isinstance(value, list) or not all(type(each) is int for each in value):
        return None
    return tuple(value)


def logprob_of(value: Any) -> float | None:
    """A log probability as it was given; None: there is none, or it is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number beyond all floats
        return None
