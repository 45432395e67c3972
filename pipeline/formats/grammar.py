"""Texts by a lark grammar of this folder: the tree, or what stands where in place of what. Knows no format."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple, NoReturn

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from pipeline.formats.located import Path, Place

MAX_TOKENS = 200_000  # the parsers take about 40,000 a second
SHOWN = 40  # characters of a token in a message

Node = Tree[Token]


class Fault(Exception):
    """What is wrong with a text, and where. Each format makes an error of its own of it."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(place, message)
        self.place, self.message = place, message


class Grammar(NamedTuple):
    """A grammar, and how its errors speak."""

    file: str
    """The name of the lark file beside this one."""
    phrases: tuple[tuple[frozenset[str], str], ...]
    """What is said of terminals that may stand at one place: the first whose terminals may all stand there is said,
    its terminals are left out, and so on. A terminal without a phrase is not told."""
    unfinished: tuple[tuple[str, str], ...]
    """A character, and what it begins, which then has no end on its line."""
    opening: frozenset[str]
    closing: frozenset[str]
    callbacks: tuple[tuple[str, Callable[[Token], Token]], ...] = ()
    """What looks at the tokens of a kind; it may raise `Fault`."""


def parse_tree(grammar: Grammar, text: str, max_depth: int) -> Node:
    """The tree of a text, whose nodes have lines and columns.

    Raises:
        Fault: the first token that may not stand where it stands, or that is one too many or too deep.
    """
    parser: Any = _parser(grammar).parse_interactive(text)  # Any: lark's step-by-step parser has no types
    depth = 0
    try:
        for number, token in enumerate(parser.iter_parse()):
            if number == MAX_TOKENS:
                raise Fault(
                    place_of(token), f"has more than {MAX_TOKENS:,} words and signs, which is data and no config"
                )
            depth += (token.type in grammar.opening) - (token.type in grammar.closing)
            if depth > max_depth:
                raise Fault(place_of(token), f"is nested deeper than {max_depth} levels")
        tree: Node = parser.feed_eof()
        return tree
    except UnexpectedCharacters as error:
        place, begun = Place(error.line, error.column), dict(grammar.unfinished).get(error.char)
        if begun:
            raise Fault(place, f"{begun} begins here that does not end on its line") from None
        _unexpected(grammar, parser.accepts(), place, repr(error.char))
    except UnexpectedToken as error:
        if error.token.type == "$END":
            end = Place(text.count("\n") + 1, len(text) - text.rfind("\n"))
            _unexpected(grammar, parser.accepts(), end, "the end")
        _unexpected(grammar, parser.accepts(), place_of(error.token), repr(shortened(str(error.token))))


def fields_of(
    fields: list[Node],
    path: Path,
    places: dict[Path, Place],
    name_of: Callable[[Any], str],
    value_of: Callable[[Any, Path, dict[Path, Place]], Any],
) -> dict[str, Any]:
    """The named values of nodes that hold a name and a value; `places` gets where each name stands.

    Raises:
        Fault: a name twice.
    """
    result: dict[str, Any] = {}
    for field in fields:
        name, at = name_of(field.children[0]), place_of(field)
        if name in result:
            first = places[(*path, name)].line
            raise Fault(at, f"the field {name!r} stands twice; the first is on line {first}")
        places[(*path, name)] = at
        result[name] = value_of(field.children[1], (*path, name), places)
    return result


def place_of(node: Token | Node) -> Place:
    """Where a token or the first token of a tree stands."""
    at: Any = node if isinstance(node, Token) else node.meta
    return Place(at.line, at.column)


def place_in(token: Token, offset: int) -> Place:
    """Where the character at `offset` of a token of one line stands."""
    at = place_of(token)
    return Place(at.line, at.column + offset)


def shortened(text: str) -> str:
    """The beginning of a text, as errors show it."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _unexpected(grammar: Grammar, possible: set[str], place: Place, found: str) -> NoReturn:
    said, left = [], set(possible)
    for terminals, phrase in grammar.phrases:
        if terminals <= left:
            said.append(phrase)
            left -= terminals
    wanted = " or ".join([", ".join(said[:-1]), said[-1]]) if len(said) > 1 else "".join(said)
    raise Fault(place, f"found {found}, expected {wanted}")


@functools.cache
def _parser(grammar: Grammar) -> Lark:
    text = resources.files("pipeline.formats").joinpath(grammar.file).read_text(encoding="utf-8")
    # The basic lexer cuts tokens in the same way everywhere, so an error names the token and not a character of it.
    callbacks = dict(grammar.callbacks)
    return Lark(text, parser="lalr", lexer="basic", propagate_positions=True, lexer_callbacks=callbacks)
