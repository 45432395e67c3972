"""Keys that stand twice in one JSON object. Parsers keep the last without a word, so a value would be lost."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

_SPACED_COLONS = (b" :", b"\t:", b"\r:")


class _RepeatedKeyError(Exception):
    pass


def repeated_key(text: bytes, value: Any) -> str | None:
    """The first key that stands twice in an object of a JSON text; None where there is none.

    Args:
        text: one JSON value, UTF-8.
        value: what it was parsed to.
    """
    n_keys = _count_keys(value)
    # A colon follows each key. Only where there are more, such as in texts, is the JSON read again, and slowly.
    if text.count(b":") == n_keys:
        return None
    if text.count(b'":') == n_keys and not any(spaced in text for spaced in _SPACED_COLONS):
        return None
    with suppress(RecursionError):
        try:
            json.loads(text, object_pairs_hook=_refuse_repeated)
        except _RepeatedKeyError as found:
            return str(found)
    return None


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(item) for item in value.values() if isinstance(item, dict | list))
    return sum(_count_keys(item) for item in value if isinstance(item, dict | list))


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _RepeatedKeyError(key)
        found[key] = value
    return found
