"""JSON, read strictly and compared exactly, at any depth up to a limit and with integers of any length.

orjson reads what it reads exactly; the rest (integers beyond 64 bits, numbers beyond a double, lone surrogates, and
everything that is no JSON) goes through a reader of our own, which needs no recursion and gives the error text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C reader of strings, known to no stub
from typing import Any

import orjson

MAX_DEPTH = 1000  # levels; below orjson's own 1024, so that the limit is one and the same on either way

LONG_DIGITS = "[0-9]{19}"
"""Where this matches, a document may hold an integer that orjson would round to a float."""

_MAX_INT_DIGITS = 640  # the lowest limit that Python can be set to for int(text); a double has 309 digits at most
_CONSTANTS = {"true": True, "false": False, "null": None}
_LENIENT_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"true|false|null|NaN|-?Infinity")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class LongInteger:
    """An integer with more digits than Python turns into an int: equal to its like alone."""

    digits: str
    """As written; JSON has no leading zeros, so equal numbers have equal digits."""


def read_json(text: str, *, exact: bool = False, lenient: bool = False) -> Any:
    """The value of a JSON document.

    Args:
        text: the document.
        exact: whether integers may be longer than 64 bits (see `LONG_DIGITS`); slower.
        lenient: whether NaN, Infinity and -Infinity, which are no JSON, are read as the floats they name.

    Raises:
        ValueError: no JSON, or nested deeper than `MAX_DEPTH`.
    """
    if not exact:
        try:
            value = orjson.loads(text)
        except ValueError:
            pass
        else:
            if len(text) > MAX_DEPTH and text.count("[") + text.count("{") > MAX_DEPTH:
                check_json_depth(text)
            return value
    return _Reader(text, lenient=lenient).document()


def check_json_depth(text: str) -> None:
    """Refuse a valid document that is nested too deep: ValueError."""
    depth = 0
    for bracket in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.DOTALL):
        if bracket in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        elif bracket in "]}":
            depth -= 1


def json_equal(left: Any, right: Any) -> bool:
    """Equal as JSON: objects by key, lists by order, numbers by value, booleans only to booleans."""
    pairs = [(left, right)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            pairs.extend((a[key], b[key]) for key in a)
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif isinstance(a, bool) or isinstance(b, bool):
            if a is not b:
                return False
        elif a != b:
            return False
    return True


class _Reader:
    """Reads one document with a stack of its own: depth costs no recursion."""

    def __init__(self, text: str, *, lenient: bool) -> None:
        self.text = text
        self.at = 0
        self.lenient = lenient
        self.open: list[Any] = []  # containers that are not closed yet
        self.keys: list[str] = []  # the key that the next value of each open object goes under

    def document(self) -> Any:
        if not self.text:
            raise ValueError("empty text is no JSON")
        while True:
            value = self._value()
            if value is _OPENED:
                continue
            while self.open:
                self._put(value)
                if not self._closes():
                    break
                value = self.open.pop()
            else:
                if self._peek():
                    raise self._error("more text after the document")
                return value

    def _value(self) -> Any:
        """A scalar or an empty container; `_OPENED` after the start of a container."""
        char = self._peek()
        if char == '"':
            return self._string()
        if char not in ("[", "{"):
            return self._scalar()
        self.at += 1
        if self._peek() == _CLOSING[char]:
            self.at += 1
            self._check_depth(1)
            return [] if char == "[" else {}
        self.open.append([] if char == "[" else {})
        self._check_depth(0)
        if char == "{":
            self._key()
        return _OPENED

    def _check_depth(self, more: int) -> None:
        if len(self.open) + more > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")

    def _put(self, value: Any) -> None:
        container = self.open[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            container[self.keys.pop()] = value

    def _closes(self) -> bool:
        """Whether the container on top ends here; else the next member begins."""
        is_object = isinstance(self.open[-1], dict)
        char = self._peek()
        if char == ("}" if is_object else "]"):
            self.at += 1
            return True
        if char != ",":
            raise self._error("expected a comma or the end of the " + ("object" if is_object else "array"))
        self.at += 1
        if is_object:
            self._key()
        return False

    def _key(self) -> None:
        if self._peek() != '"':
            raise self._error("expected a key in double quotes")
        self.keys.append(self._string())
        if self._peek() != ":":
            raise self._error("expected a colon")
        self.at += 1

    def _string(self) -> str:
        try:
            text: str
            text, self.at = scanstring(self.text, self.at + 1, True)
        except ValueError:
            raise self._error("a string that does not end, or holds a control character or a bad escape") from None
        return text

    def _scalar(self) -> Any:
        if word := _WORD.match(self.text, self.at):
            name = word[0]
            if name not in _CONSTANTS and not self.lenient:
                raise self._error(f"{name} is no JSON")
            self.at = word.end()
            return _CONSTANTS[name] if name in _CONSTANTS else _LENIENT_CONSTANTS[name]
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            raise self._error("expected a value")
        self.at = number.end()
        digits, fraction, exponent = number.groups()
        if fraction or exponent:
            return float(number[0])
        return int(digits) if len(digits) <= _MAX_INT_DIGITS else LongInteger(digits)

    def _peek(self) -> str:
        """The next character that is not whitespace; empty at the end."""
        match = _SPACE.match(self.text, self.at)
        assert match is not None  # matches the empty text too
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def _error(self, what: str) -> ValueError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        return ValueError(f"{what} at line {line} column {column}")


_OPENED = object()
