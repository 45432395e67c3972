"""ZON (Zig Object Notation) as plain values, and where each stands. Refuses duplicate fields, size and depth."""

from __future__ import annotations

import difflib
import re
from typing import Any

from lark import Token

from pipeline.errors import ZonError
from pipeline.formats.grammar import Fault, Grammar, Node, fields_of, parse_tree, place_of, shortened
from pipeline.formats.located import MAX_BYTES, MAX_DEPTH, Located, Path, Place
from pipeline.formats.zon_literals import WORDS, code_point_of, lines_of, number_of, text_of
from pipeline.formats.zon_values import EmptyBraces, EnumLiteral
from pipeline.formats.zon_writer import write_zon

__all__ = ["EmptyBraces", "EnumLiteral", "ZonError", "parse_zon", "read_zon", "write_zon"]

DEEPEST = 200  # levels that a caller may ask for; values are made by recursion

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]|\r(?!\n)")


def parse_zon(text: str, *, max_depth: int = MAX_DEPTH, where: str = "zon") -> Any:
    """The plain value of a ZON text.

    Args:
        text: one value.
        max_depth: levels of braces, at most 200.
        where: what errors call the text.

    Returns:
        Structs as dicts, tuples as lists, characters as their numbers, `.name` as `EnumLiteral`, `&.{}` as an empty
        list and `.{}`, which may be either, as `EmptyBraces`.

    Raises:
        ZonError: not ZON, a field twice, or too deep; it has line and column.
    """
    return _located(text, max_depth, where).value


def read_zon(data: bytes, where: str) -> Located:
    """Read one ZON value of UTF-8 text, with the place of every value in it.

    Args:
        data: the bytes of the file.
        where: what errors call it, such as its path.

    Raises:
        ZonError: not UTF-8, not ZON, too large or deep, or a field twice.
    """
    if len(data) > MAX_BYTES:
        raise _error(where, Place(1, 1), f"has {len(data):,} bytes, more than the {MAX_BYTES:,} that a config may have")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        raise _error(where, _end_of(before), "is not UTF-8 text; save it as UTF-8") from None
    return _located(text, MAX_DEPTH, where)


def _located(text: str, max_depth: int, where: str) -> Located:
    if not 0 <= max_depth <= DEEPEST:
        raise ValueError(f"max_depth is {max_depth}, expected 0 to {DEEPEST}")
    text = text.removeprefix("\ufeff")
    places: dict[Path, Place] = {}
    try:
        if bad := _NO_TEXT.search(text):
            what = "a carriage return without a line feed" if bad[0] == "\r" else f"the character {bad[0]!r}"
            raise Fault(_end_of(text[: bad.start()]), f"{what} may not stand in ZON")
        root: Any = parse_tree(_GRAMMAR, text, max_depth).children[0]
        return Located(_value(root, (), places), places)
    except Fault as fault:
        raise _error(where, fault.place, fault.message) from None


def _end_of(text: str) -> Place:
    return Place(text.count("\n") + 1, len(text) - text.rfind("\n"))


def _error(where: str, place: Place, message: str) -> ZonError:
    return ZonError(f"{where}:{place.line}:{place.column}: {message}", line=place.line, column=place.column)


def _value(node: Node, path: Path, places: dict[Path, Place]) -> Any:
    places.setdefault(path, place_of(node))
    children: list[Any] = node.children
    match node.data:
        case "struct":
            return fields_of(children, path, places, _name, _value)
        case "tuple":
            return [_value(item, (*path, index), places) for index, item in enumerate(children)]
        case "pointed":
            return _value(children[0], path, places) or []
        case "empty":
            return EmptyBraces()
        case "enum":
            return EnumLiteral(_name(children[0]))
        case _:
            return _literal(node.data, children)


def _name(node: Node) -> str:
    token: Any = node.children[0]
    if token.type == "NAME":
        return str(token)
    name = text_of(token)
    if not name or "\0" in name:
        raise Fault(place_of(token), f"the name {token} is empty or holds a NUL")
    return name


def _literal(kind: str, tokens: list[Token]) -> Any:
    sign = tokens[0] if tokens[0].type == "MINUS" else None
    match kind:
        case "string":
            return text_of(tokens[0])
        case "multiline":
            return lines_of(tokens)
        case "character":
            return code_point_of(tokens[0])
        case "number":
            return number_of(tokens[-1], sign)
        case _:
            return _word(tokens[-1], sign)


def _word(token: Token, sign: Token | None) -> Any:
    if token not in WORDS:
        close = difflib.get_close_matches(token, WORDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; text stands in quotes, and a name after a dot (.{token})"
        raise Fault(
            place_of(token), f"the word {shortened(str(token))!r} is no value: there are {', '.join(WORDS)}{hint}"
        )
    if sign is None:
        return WORDS[token]
    if token != "inf":
        raise Fault(place_of(sign), f"-{token} is no value; a minus stands before a number or inf")
    return float("-inf")


def _checked_comment(token: Token) -> Token:
    if re.match(r"///(?!/)|//!", token):
        raise Fault(place_of(token), f"{token[:3]} begins a documentation comment, which ZON does not have; write //")
    return token


_VALUES = frozenset(["_DOT", "STRING", "MULTILINE", "CHARACTER", "NUMBER", "NAME", "MINUS", "_AMPERSAND"])
_GRAMMAR = Grammar(
    file="zon.lark",
    phrases=(
        (_VALUES, "a value"),
        (frozenset(["_DOT", "_CLOSE"]), "a field (.name = value) or '}'"),
        (frozenset(["NUMBER", "NAME"]), "a number"),
        (frozenset(["NAME", "QUOTED_NAME"]), "a name"),
        (frozenset(["_DOT"]), "'.{'"),
        (frozenset(["_OPEN"]), "'{'"),
        (frozenset(["_EQUAL"]), "'='"),
        (frozenset(["_COMMA"]), "','"),
        (frozenset(["_CLOSE"]), "'}'"),
        (frozenset(["$END"]), "the end"),
    ),
    unfinished=(('"', "a string"), ("'", "a character"), ("@", "a name in quotes")),
    opening=frozenset(["_OPEN"]),
    closing=frozenset(["_CLOSE"]),
    callbacks=(("COMMENT", _checked_comment),),
)
