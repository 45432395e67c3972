"""Plain values as ZON, in the layout of Zig's formatter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pipeline.formats.located import MAX_DEPTH, MAX_DIGITS
from pipeline.formats.zon_literals import quoted, written_name
from pipeline.formats.zon_values import EnumLiteral

_INDENT = "    "


def write_zon(value: Any) -> str:
    """The ZON text of a plain value, with a line feed at its end; `parse_zon` gives an equal value.

    Args:
        value: mappings with text keys, lists, tuples, text, `EnumLiteral`, numbers, bool, None. Lists are written as
            `&.{…}`, so that an empty one is no struct.

    Raises:
        ValueError: another type, a name that is empty or holds a NUL, text that is no Unicode, more than 32 levels.
    """
    return _written(value, 0) + "\n"


def _written(value: Any, depth: int) -> str:
    if isinstance(value, (Mapping, list, tuple)):
        if depth >= MAX_DEPTH:
            raise ValueError(f"the value is nested deeper than {MAX_DEPTH} levels")
        return _struct(value, depth) if isinstance(value, Mapping) else _tuple(value, depth)
    if isinstance(value, EnumLiteral):
        return f".{written_name(value)}"
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return repr(value) if not math.isnan(value) else "nan"
    raise ValueError(f"{value!r} of type {type(value).__name__} has no form in ZON")


def _struct(value: Mapping[Any, Any], depth: int) -> str:
    fields = []
    for name, member in value.items():
        if not isinstance(name, str):
            raise ValueError(f"the key {name!r} is not text")
        fields.append(f".{written_name(name)} = {_written(member, depth + 1)}")
    return _on_lines("", fields, depth) if fields else ".{}"


def _tuple(value: list[Any] | tuple[Any, ...], depth: int) -> str:
    items = [_written(item, depth + 1) for item in value]
    if any(isinstance(item, (Mapping, list, tuple)) for item in value):
        return _on_lines("&", items, depth)
    return f"&.{{ {', '.join(items)} }}" if items else "&.{}"


def _on_lines(before: str, members: list[str], depth: int) -> str:
    inner = _INDENT * (depth + 1)
    return f"{before}.{{\n{''.join(f'{inner}{member},{chr(10)}' for member in members)}{_INDENT * depth}}}"


def _integer(value: int) -> str:
    # Compared before it is written: Python refuses to write integers of thousands of digits.
    if abs(value) >= 10**MAX_DIGITS:
        raise ValueError(f"the integer has more than {MAX_DIGITS:,} digits")
    return str(value)
