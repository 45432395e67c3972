"""Text without secrets. Knows the values, and neither where they come from nor what the text is for."""

from __future__ import annotations

import json
from collections.abc import Iterable

MASK = "[secret]"


def spellings(values: Iterable[str]) -> list[str]:
    """Secret values as they may stand in text, plain or inside JSON; the longest first, none empty."""
    found = {
        text
        for value in filter(None, values)
        for text in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    }
    return sorted(found, key=lambda text: (-len(text), text))


def redact(text: str, values: Iterable[str]) -> str:
    """The text with every secret value masked, the longest first so that none survives as part of another."""
    for value in spellings(values):
        text = text.replace(value, MASK)
    return text
