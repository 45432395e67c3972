"""YAML as plain values, and the line of each. Refuses whatever reads differently from how it looks."""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from pipeline.errors import InputError
from pipeline.formats.config_text import config_text
from pipeline.formats.located import MAX_DEPTH, MAX_DIGITS, Located, Path, Place

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_TEXT_TAG = "tag:yaml.org,2002:str"
_READS_AS = {
    "tag:yaml.org,2002:bool": "a truth value; write true or false, or quote it",
    "tag:yaml.org,2002:int": "a number in another base; write it in decimal, or quote it",
    "tag:yaml.org,2002:float": "a number that is not finite or not decimal; quote it",
    "tag:yaml.org,2002:null": "null; write null, or quote it",
    "tag:yaml.org,2002:timestamp": "a date; quote it",
    "tag:yaml.org,2002:merge": "a merge key, which is not supported",
    "tag:yaml.org,2002:value": "a default key, which is not supported",
}


class _Loader(yaml.SafeLoader):
    """Composes nodes and refuses, while reading, what needs no value to be refused."""

    depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, yaml.events.AliasEvent) or event.anchor is not None:
            raise _Refusal(line, "anchors and aliases (& and *) are not supported: write the value out")
        if event.tag is not None:
            raise _Refusal(line, f"tags ({event.tag}) are not supported: quote text, write anything else plainly")
        if self.depth >= MAX_DEPTH:
            raise _Refusal(line, f"is nested deeper than {MAX_DEPTH} levels")
        self.depth += 1
        node: Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Refusal(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(line, message)
        self.line, self.message = line, message


def parse_yaml(data: bytes, where: str) -> Located:
    """Read one YAML document of UTF-8 text.

    Args:
        data: the bytes of the file.
        where: what errors call it, such as its path.

    Raises:
        InputError: not UTF-8, not YAML, too large or deep, an alias, a tag, a duplicate or a non-text key, or a plain
            scalar that YAML 1.1 reads as something else than it looks like (`no`, `010`, `1:30`, `2024-01-01`).
    """
    text = config_text(data, where)
    places: dict[Path, Place] = {}
    try:
        root = _Loader(text).get_single_node()
        return Located(None if root is None else _value(root, (), places), places)
    except _Refusal as refusal:
        raise InputError(f"{where}:{refusal.line}: {refusal.message}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise InputError(f"{where}:{line}: is not YAML: {error.problem} (column {column})") from None
    except ReaderError as error:
        before, sign = text[: error.position], text[error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        raise InputError(f"{where}:{line}: is not YAML: the character {sign!r} (column {column})") from None


def _value(node: Node, path: Path, places: dict[Path, Place]) -> Any:
    places[path] = _place(node)
    if isinstance(node, MappingNode):
        return _mapping(node, path, places)
    if isinstance(node, SequenceNode):
        return [_value(item, (*path, index), places) for index, item in enumerate(node.value)]
    assert isinstance(node, ScalarNode)
    return _scalar(node)


def _mapping(node: MappingNode, path: Path, places: dict[Path, Place]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = _scalar(key_node) if isinstance(key_node, ScalarNode) else None
        if not isinstance(key, str):
            raise _Refusal(line, f"the key {key_node.value!r} is not text; quote it")
        if key in result:
            raise _Refusal(line, f"the key {key!r} stands twice; the first is on line {places[(*path, key)].line}")
        result[key] = _value(value_node, (*path, key), places)
        places[(*path, key)] = _place(key_node)
    return result


def _place(node: Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def _scalar(node: ScalarNode) -> Any:
    text: str = node.value
    if node.style is not None:
        return text
    if text.lower() in _WORDS and text in (text.lower(), text.title(), text.upper()):
        return _WORDS[text.lower()]
    if len(text) > MAX_DIGITS and (_INTEGER.match(text) or _FLOAT.match(text)):
        raise _Refusal(
            node.start_mark.line + 1, f"a number has more than {MAX_DIGITS:,} digits; quote it if it is text"
        )
    if _INTEGER.match(text):
        return int(text)
    if _FLOAT.match(text):
        return _finite(node, float(text))
    if node.tag == _TEXT_TAG:
        return text
    raise _Refusal(node.start_mark.line + 1, f"{text!r} without quotes reads as {_READS_AS[node.tag]}")


def _finite(node: ScalarNode, number: float) -> float:
    if number in (float("inf"), float("-inf")):
        raise _Refusal(node.start_mark.line + 1, f"{node.value!r} is too large for a number")
    return number
