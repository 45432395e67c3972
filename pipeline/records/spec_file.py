"""Specs and suites from the bytes of their files: ZON, strict YAML or JSON, and one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Literal, TypeVar

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.formats.json_document import read_json
from pipeline.formats.located import Located
from pipeline.formats.strict_yaml import parse_yaml
from pipeline.formats.zon import read_zon
from pipeline.records.base import Record
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.rl_suite import RlSuite
from pipeline.records.told import check_kind, told

READERS: Mapping[str, Callable[[bytes, str], Located]] = {
    ".zon": read_zon,
    ".yaml": parse_yaml,
    ".yml": parse_yaml,
    ".json": read_json,
}
"""How a file is read, by the ending of its name."""

Command = Literal["check", "run", "replay"]

_NEEDED: Mapping[Command, tuple[str, ...]] = {"check": (), "run": ("provider", "model"), "replay": ("capture",)}

M = TypeVar("M", bound=Record)


def parse_spec(data: bytes, where: str, command: Command = "check") -> EvalSpec:
    """The spec of an evaluation.

    Args:
        data: the bytes of the file.
        where: the path of the file: its ending tells the format, and errors name it.
        command: what the spec is for; a run needs `provider` and `model`, a replay `capture`.

    Raises:
        InputError: names file, line, field, what was found and what is allowed, and the nearest known name.
    """
    spec = _parse(data, where, EvalSpec, "chock.eval")
    for field in _NEEDED[command]:
        if getattr(spec, field) is None:
            raise InputError(f"{where}:1: the field {field!r} is missing, which a {command} needs")
    return spec


def parse_suite(data: bytes, where: str) -> RlSuite:
    """The spec of a rollout suite, read as specs are."""
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


def _parse(data: bytes, where: str, model: type[M], schema: str) -> M:
    document = check_ending(where)(data, where)
    check_kind(document, where, model, {"schema": schema, "version": 1})
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        raise told(error, model, document, where) from None
