"""Canonical JSON (RFC 8785): the same value is the same bytes, on every system."""

from __future__ import annotations

from typing import Any

import rfc8785

MAX_EXACT_INTEGER = 2**53  # beyond it RFC 8785 has no number; such integers travel as text


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of a JSON value, without a final line feed.

    Args:
        value: dicts with text keys, lists, tuples, text, bool, None, finite numbers.

    Raises:
        ValueError: NaN, an infinity, an integer beyond 2^53, text that is no Unicode, or another type.
    """
    return rfc8785.dumps(value)
