"""JSON by its grammar: plain values and where each stands, or what is wrong and where. `json_document` asks for it."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from lark import Token

from pipeline.errors import InputError
from pipeline.formats.grammar import Fault, Grammar, Node, fields_of, parse_tree, place_in, place_of, shortened
from pipeline.formats.located import MAX_DEPTH, MAX_DIGITS, Located, Path, Place

_WORDS = {"null": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")


def read_tree(text: str, where: str) -> Located:
    """Read one JSON document, with the place of every value in it.

    Args:
        text: of the file.
        where: what errors call it, such as its path.

    Raises:
        InputError: not JSON, too large or deep, a field twice, or a number that is not finite.
    """
    places: dict[Path, Place] = {}
    try:
        root: Any = parse_tree(_GRAMMAR, text, MAX_DEPTH).children[0]
        return Located(_value(root, (), places), places)
    except Fault as fault:
        raise InputError(f"{where}:{fault.place.line}:{fault.place.column}: {fault.message}") from None


def _value(node: Node, path: Path, places: dict[Path, Place]) -> Any:
    places.setdefault(path, place_of(node))
    children: list[Any] = node.children
    match node.data:
        case "object":
            return fields_of(children, path, places, _text, _value)
        case "array":
            return [_value(item, (*path, index), places) for index, item in enumerate(children)]
        case "string":
            return _text(children[0])
        case _:
            return _word(children[0])


def _text(token: Token) -> str:
    try:
        text: str = json.loads(token)
    except json.JSONDecodeError as error:
        raise Fault(place_in(token, error.pos), f"{shortened(str(token))} is no text of JSON: {error.msg}") from None
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Fault(place_of(token), f"{shortened(str(token))} holds half of a surrogate pair, which is no text")
    return text


def _word(token: Token) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    is_number = bool(_FLOAT.match(token))
    if is_number and len(token) > MAX_DIGITS:
        raise Fault(place_of(token), f"the number {shortened(str(token))} has more than {MAX_DIGITS:,} digits")
    if not is_number:
        raise Fault(place_of(token), f"{shortened(str(token))!r} is neither a number nor true, false or null")
    if _INTEGER.match(token):
        return int(token)
    number = float(token)
    if math.isinf(number):
        raise Fault(place_of(token), f"{shortened(str(token))} is too large for a number")
    return number


_GRAMMAR = Grammar(
    file="json.lark",
    phrases=(
        (frozenset(["_OPEN", "_OPEN_LIST", "STRING", "WORD"]), "a value"),
        (frozenset(["STRING"]), "a field's name in quotes"),
        (frozenset(["_COLON"]), "':'"),
        (frozenset(["_COMMA"]), "','"),
        (frozenset(["_CLOSE"]), "'}'"),
        (frozenset(["_CLOSE_LIST"]), "']'"),
        (frozenset(["$END"]), "the end"),
    ),
    unfinished=(('"', "a text"),),
    opening=frozenset(["_OPEN", "_OPEN_LIST"]),
    closing=frozenset(["_CLOSE", "_CLOSE_LIST"]),
)
