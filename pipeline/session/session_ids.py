"""Ids of sessions: 26 characters of Crockford base32 (ULID) that sort by the time they were made."""

from __future__ import annotations

import re

from ulid import ULID

_RANDOM_BYTES = 10
_PATTERN = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def new_session_id(now_ms: int, random: bytes) -> str:
    """An id.

    Args:
        now_ms: Unix milliseconds; what ids are sorted by.
        random: ten bytes that nobody can guess.
    """
    if len(random) != _RANDOM_BYTES:
        raise ValueError(f"got {len(random)} random bytes, expected {_RANDOM_BYTES}")
    return str(ULID.from_bytes(now_ms.to_bytes(6, "big") + random))


def is_session_id(text: str) -> bool:
    """Whether a text has the form of an id. One that has may be used in paths."""
    return _PATTERN.fullmatch(text) is not None
