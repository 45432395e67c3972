"""What is wrong with a config, told: file, line, field, what was found, what is allowed, the nearest known name."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from pipeline.errors import InputError
from pipeline.formats.located import Located, Path
from pipeline.records.names import nearest

IN_OUR_WORDS: Mapping[str, str] = {
    "string_type": "expected text",
    "string_too_short": "expected text that is not empty",
    "tuple_type": "expected a list",
    "dict_type": "expected fields with values",
    "model_type": "expected fields with values",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "finite_number": "expected a finite number",
    "too_short": "expected a list that is not empty",
}
"""What is said instead of pydantic's messages that speak of Python."""

_OF_PATTERNS: Mapping[str, str] = {
    r"^[0-9a-f]{64}\Z": "expected 64 lower-case hex digits",
    r"^[A-Z]{3}\Z": "expected three capital letters of ISO 4217, such as USD",
}
_AT_FIELD = "at_field"


def at_field(field: str, reason: str) -> PydanticCustomError:
    """An error of a validator that looks at several fields, told at the one of them that is to be mended."""
    return PydanticCustomError(_AT_FIELD, "{reason}", {"field": field, "reason": reason})


def check_kind(document: Located, where: str, model: type[BaseModel], kind: Mapping[str, object]) -> None:
    """Refuse another schema or version, then fields that are not known, then a kind that is missing: it may be a typo.

    Raises:
        InputError: the document does not hold fields, or is of another kind than `kind` (field → value) tells.
    """
    found = document.value
    if not isinstance(found, dict):
        what = "is empty" if found is None else f"holds a {type(found).__name__}"
        wanted = " and ".join(f"{field}: {value}" for field, value in kind.items())
        raise InputError(f"{where}:1: {what}; expected fields such as {wanted}")
    for field, wanted_value in kind.items():
        value = found.get(field, wanted_value)
        if value != wanted_value or isinstance(value, bool):
            place = f"{where}:{document.line_of((field,))}"
            raise InputError(f"{place}: {field} is {shown(value)}; this assay reads {field}: {wanted_value}")
    known = field_names(model)
    for field in found:
        if field not in known:
            raise InputError(f"{where}:{document.line_of((field,))}: unknown field {field!r}{nearest(field, known)}")
    for field, wanted_value in kind.items():
        if field not in found:
            raise InputError(f"{where}:1: {field} is missing; this assay reads {field}: {wanted_value}")


def told(
    error: ValidationError,
    model: type[BaseModel],
    document: Located,
    where: str,
    *,
    above: Path = (),
    words: Mapping[str, str] = IN_OUR_WORDS,
) -> InputError:
    """The first thing that a model found wrong, as an error for the user.

    Args:
        error: what `model` raised for the value at the path `above` of the document.
        where: the file.
        words: what is said of the kinds of errors of pydantic's.
    """
    errors = error.errors(include_url=False)
    # Unknown fields before missing ones: the one is often a misspelt other.
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    inner: Path = tuple(part for part in first["loc"] if isinstance(part, str | int))
    found = first["input"]
    if first["type"] == _AT_FIELD:
        field_at = str(first["ctx"]["field"])
        inner, found = (*inner, field_at), _member(found, field_at)
    path = (*above, *inner)
    place, field = f"{where}:{document.line_of(path)}", dotted(path)
    if first["type"] == "extra_forbidden":
        return InputError(f"{place}: unknown field {field!r}{nearest(str(path[-1]), _known_beside(model, inner))}")
    if first["type"] == "missing":
        return InputError(f"{place}: the field {field!r} is missing")
    reason = _reason(first, words)
    if not path:
        return InputError(f"{place}: {reason}")
    return InputError(f"{place}: {field}: found {shown(found)}; {reason[0].lower()}{reason[1:]}")


def field_names(model: type[BaseModel]) -> list[str]:
    """The names of a model's fields as they are written."""
    return [info.alias or name for name, info in model.model_fields.items()]


def dotted(path: Path) -> str:
    """A path as users write it: `scorers[0].name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def shown(value: object) -> str:
    """A value as errors show it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _reason(error: ErrorDetails, words: Mapping[str, str]) -> str:
    reason = words.get(error["type"], error["msg"].removeprefix("Value error, "))
    context = error.get("ctx", {})
    if error["type"] in ("literal_error", "enum") and isinstance(error["input"], str):
        hint = nearest(error["input"], re.findall(r"'([^']*)'", str(context.get("expected"))))
        return reason + (hint if "did you mean" in hint else "")
    return _OF_PATTERNS.get(str(context.get("pattern")), reason)


def _member(value: object, field: str) -> object:
    """What stands in a field: of the model that was made, or of what it was to be made of."""
    return value.get(field) if isinstance(value, Mapping) else getattr(value, field, value)


def _known_beside(model: type[BaseModel], path: Path) -> list[str]:
    """The fields that may stand where the last step of a path stands."""
    for part in path[:-1]:
        info = next((info for name, info in model.model_fields.items() if part in (info.alias, name)), None)
        inner = next(_models(info.annotation), None) if info else model
        if inner is None:
            return []
        model = inner
    return field_names(model)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation, such as that of `tuple[Model, ...] | None`."""
    if isinstance(annotation, type):
        if issubclass(annotation, BaseModel):
            yield annotation
        return
    for argument in typing.get_args(annotation):
        yield from _models(argument)
