"""JSON as plain values, and where each stands: for specs, whose errors name a line. Refuses what has two readings.

What Python's own parser reads without a doubt is not parsed again until somebody asks for a place: the grammar takes
many times as long, and most specs have no fault.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NoReturn

from pipeline.formats.config_text import config_text
from pipeline.formats.located import MAX_DEPTH, MAX_DIGITS, Located, Path, Place

_MOST_CHARACTERS = 100_000  # so that the grammar would not find too many words and signs


def read_json(data: bytes, where: str) -> Located:
    """Read one JSON document of UTF-8 text, with the place of every value in it.

    Args:
        data: the bytes of the file.
        where: what errors call it, such as its path.

    Raises:
        InputError: not UTF-8, not JSON, too large or deep, a field twice, or a number that is not finite.
    """
    text = config_text(data, where)
    try:
        return Located(_read_quickly(text), _Places(text, where))
    except (ValueError, RecursionError):
        return _by_grammar(text, where)


class _Places(Mapping[Path, Place]):
    """Where each value of a text stands, as soon as somebody asks."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where

    @cached_property
    def _found(self) -> Mapping[Path, Place]:
        return _by_grammar(self._text, self._where).places

    def __getitem__(self, path: Path) -> Place:
        return self._found[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _by_grammar(text: str, where: str) -> Located:
    from pipeline.formats.json_tree import read_tree

    return read_tree(text, where)


def _read_quickly(text: str) -> Any:
    """The value of a text that the grammar takes as well.

    Raises:
        ValueError: there is something about it that only the grammar can tell.
        RecursionError: it is nested too deep.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError
    value = json.loads(
        text, object_pairs_hook=_fields, parse_int=_integer, parse_float=_float, parse_constant=_no_number
    )
    _check(value, MAX_DEPTH)
    return value


def _check(value: Any, depth: int) -> None:
    """Whether a value is not too deep, and all its text is text."""
    if isinstance(value, str):
        value.encode()  # an error where it holds half of a surrogate pair
    elif isinstance(value, (dict, list)):
        if depth <= 0:
            raise ValueError
        for key in value if isinstance(value, dict) else ():
            key.encode()
        for member in value.values() if isinstance(value, dict) else value:
            _check(member, depth - 1)


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError
    return fields


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if len(digits) > MAX_DIGITS or math.isinf(number):
        raise ValueError
    return number


def _no_number(_word: str) -> NoReturn:
    raise ValueError
