"""Specs and suites from the bytes of their files: ZON, strict YAML or JSON, and one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.formats.located import Located
from pipeline.records.base import Record
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.told import check_kind, told

if TYPE_CHECKING:
    from pipeline.records.rl_suite import RlSuite


# A command reads one file: it does not wait for the parsers of the other formats.
def _read_zon(data: bytes, where: str) -> Located:
    from pipeline.formats.zon import read_zon

    return read_zon(data, where)


def _read_yaml(data: bytes, where: str) -> Located:
    from pipeline.formats.strict_yaml import parse_yaml

    return parse_yaml(data, where)


def _read_json(data: bytes, where: str) -> Located:
    from pipeline.formats.json_document import read_json

    return read_json(data, where)


READERS: Mapping[str, Callable[[bytes, str], Located]] = {
    ".zon": _read_zon,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
    ".json": _read_json,
}
"""How a file is read, by the ending of its name."""

Command = Literal["check", "run", "replay"]

_NEEDED: Mapping[Command, tuple[str, ...]] = {"check": (), "run": ("provider", "model"), "replay": ("capture",)}

M = TypeVar("M", bound=Record)
NOTHING: Mapping[str, Any] = MappingProxyType({})


def parse_spec(
    data: bytes, where: str, command: Command = "check", provenance: Mapping[str, object] = NOTHING
) -> EvalSpec:
    """The spec of an evaluation.

    Args:
        data: the bytes of the file.
        where: the path of the file: its ending tells the format, and errors name it.
        command: what the spec is for; a run needs `provider` and `model`, a replay `capture`.
        provenance: fields that replace those of the spec, before it is validated.

    Raises:
        InputError: names file, line, field, what was found and what is allowed, and the nearest known name.
    """
    spec = _parse(data, where, EvalSpec, "chock.eval", {"provenance": provenance} if provenance else NOTHING)
    for field in _NEEDED[command]:
        if getattr(spec, field) is None:
            raise InputError(f"{where}:1: the field {field!r} is missing, which a {command} needs")
    return spec


def parse_suite(data: bytes, where: str) -> RlSuite:
    """The spec of a rollout suite, read as specs are."""
    from pipeline.records.rl_suite import RlSuite

    return _parse(data, where, RlSuite, "chock.rl-suite")


def check_ending(where: str) -> Callable[[bytes, str], Located]:
    """The reader of a file of that name.

    Raises:
        InputError: no ending that is known.
    """
    ending = PurePath(where).suffix.lower()
    if ending not in READERS:
        found = f"ends in {ending!r}" if ending else "has no ending"
        raise InputError(f"{where}: {found}; a spec ends in {', '.join(READERS)}")
    return READERS[ending]


def _parse(
    data: bytes, where: str, model: type[M], schema: str, replaced: Mapping[str, Mapping[str, object]] = NOTHING
) -> M:
    document = check_ending(where)(data, where)
    check_kind(document, where, model, {"schema": schema, "version": 1})
    value: Any = document.value
    for field, members in replaced.items():
        written = value.get(field) or {}
        value = {**value, field: {**written, **members} if isinstance(written, dict) else written}
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise told(error, model, document, where) from None
