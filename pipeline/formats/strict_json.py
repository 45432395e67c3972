"""JSON of others as plain values. Refuses what JSON parsers differ about: duplicate keys, NaN, broken text, depth."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from pipeline.errors import InputError

MAX_DEPTH = 200  # levels; far below Python's own limit of recursion


def parse_json(data: bytes, where: str) -> Any:
    """Read one JSON document of UTF-8 text.

    Args:
        data: the bytes of the file.
        where: what errors call it, such as its path.

    Raises:
        InputError: not UTF-8, not JSON, a duplicate key, NaN or an infinity, text that is no Unicode, or too deep.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}:{line}: is not UTF-8 text; save it as UTF-8") from None
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_finite)
        _check(value)
    except _Refusal as refusal:
        raise InputError(f"{where}: {refusal}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.lineno}: is not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise InputError(f"{where}: is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError:  # Python's own limit for the digits of an integer
        raise InputError(f"{where}: holds an integer of thousands of digits, which is no number of ours") from None
    return value


class _Refusal(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Refusal(f"the key {twice!r} stands twice in one object")
    return members


def _constant(name: str) -> NoReturn:
    raise _Refusal(f"{name} is no JSON number; a value that does not exist is null")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Refusal(f"{text[:40]} is too large for a number")
    return number


def _check(value: Any) -> None:
    """Refuse text that cannot be written again, and depth; without recursion, for depth is what is looked for."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _Refusal(f"is nested deeper than {MAX_DEPTH} levels")
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, str) and not _is_unicode(item):
                raise _Refusal("holds half of a surrogate pair, which is no text")
        level = below


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
