"""Text that can be written as UTF-8, whatever it was made of."""

from __future__ import annotations

from typing import Any


def whole_text(text: str) -> str:
    """The text with U+FFFD in the place of halves of surrogate pairs, and whole pairs put together."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def with_whole_text(value: Any) -> Any:
    """A value of dicts, lists and plain values, in which all text is whole; tuples become lists."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(key): with_whole_text(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [with_whole_text(member) for member in value]
    return value
