"""Canonical JSON (RFC 8785): the same value is the same bytes, on every system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import rfc8785

MAX_EXACT_INTEGER = 2**53  # beyond it RFC 8785 has no number; such integers travel as text

_MAX_DEPTH = 100  # far less than orjson refuses
_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e15  # floats between them that are no integers: written alike by everybody


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of a JSON value, without a final line feed.

    Args:
        value: dicts with text keys, lists, tuples, text, bool, None, finite numbers. Integers beyond 2^53 are
            written as text.

    Raises:
        ValueError: NaN, an infinity, text that is no Unicode, or another type.
    """
    if _is_plain(value, _MAX_DEPTH):
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:  # half of a surrogate pair
            pass
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_with_long_integers_as_text(value))


def _is_plain(value: Any, depth: int) -> bool:
    """Whether orjson, which is many times as fast, writes the canonical bytes.

    It sorts keys by their code points, and RFC 8785 by UTF-16, which is the same for ASCII. It writes 1.0, 1e16 and
    1e-7 in its own way.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-MAX_EXACT_INTEGER < value < MAX_EXACT_INTEGER)
    if kind is float:
        return _LEAST_PLAIN <= abs(value) < _MOST_PLAIN and not value.is_integer()
    if depth <= 0:
        return False
    if kind is dict:
        for key, member in value.items():
            if type(key) is not str or not key.isascii() or not _is_plain(member, depth - 1):
                return False
        return True
    if kind is list or kind is tuple:
        return all(_is_plain(member, depth - 1) for member in value)
    return False


def _with_long_integers_as_text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_long_integers_as_text(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_long_integers_as_text(member) for member in value]
    if isinstance(value, int) and abs(value) >= MAX_EXACT_INTEGER:
        return str(value)
    return value
