"""The two values of ZON that Python has no type for."""

from __future__ import annotations

from typing import Any


class EnumLiteral(str):
    """`.name`: equal to the text of its name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f".{self!s}"


class EmptyBraces(dict[str, Any]):
    """`.{}`: a struct without fields, or a tuple without items; who reads it knows which."""
