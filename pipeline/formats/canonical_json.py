"""Canonical JSON (RFC 8785): the same value is the same bytes, on every system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rfc8785

MAX_EXACT_INTEGER = 2**53  # beyond it RFC 8785 has no number; such integers travel as text


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of a JSON value, without a final line feed.

    Args:
        value: dicts with text keys, lists, tuples, text, bool, None, finite numbers. Integers beyond 2^53 are
            written as text.

    Raises:
        ValueError: NaN, an infinity, text that is no Unicode, or another type.
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_with_long_integers_as_text(value))


def _with_long_integers_as_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_long_integers_as_text(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_long_integers_as_text(member) for member in value]
    if isinstance(value, int) and abs(value) >= MAX_EXACT_INTEGER:
        return str(value)
    return value
