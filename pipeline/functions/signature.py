"""The signature of a function: its parameters as shapes, and what it returns. Reads annotations, runs nothing."""

from __future__ import annotations

import contextlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.errors import FunctionSignatureError
from pipeline.functions.results import Returned, returned_of
from pipeline.functions.shape import Shape, annotation_text, shape_of, split_none
from pipeline.records.function import Parameter

ARROW_FORMS = {pa.Table: "table", pa.Array: "array", pa.ChunkedArray: "array"}
FILLED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class Slot:
    """One parameter to fill from a column of its name."""

    name: str
    text: str
    form: str
    """`value`: one row's value; of batch functions also `list`, `array` and `table` (all columns)."""
    shape: Shape | None
    """None for `array` and `table`."""
    is_keyword: bool
    has_default: bool
    default: Any
    nullable: bool

    @property
    def kind(self) -> str:
        """The kind of column that fits, or `any`, or `table`."""
        if self.shape is None:
            return "table" if self.form == "table" else "any"
        return self.shape.wire


@dataclass(frozen=True)
class Signature:
    """A function's parameters, without `*args` and `**kwargs`, and its result."""

    slots: tuple[Slot, ...]
    returned: Returned

    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters as they are written down."""
        return tuple(_parameter(slot) for slot in self.slots)

    def classes(self) -> list[Any]:
        """The classes of all values, those inside others included."""
        shapes = [slot.shape for slot in self.slots if slot.shape]
        shapes += [self.returned.shape] if self.returned.shape else []
        return [cls for shape in shapes for cls in shape.classes()]


def check_annotations(function: Callable[..., Any]) -> None:
    """Refuse what no later look can mend.

    Raises:
        FunctionSignatureError: a parameter or the result without annotation, a generator.
    """
    name = function.__name__
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise FunctionSignatureError(f"{name}() yields; a function returns one value a row: collect them in a list")
    found = inspect.signature(function)
    bare = [parameter.name for parameter in found.parameters.values() if parameter.annotation is parameter.empty]
    if bare:
        raise FunctionSignatureError(f"parameter {bare[0]!r} of {name}() has no annotation; write {bare[0]}: str or so")
    if found.return_annotation is found.empty:
        raise FunctionSignatureError(f"{name}() has no return annotation; write -> str, -> float or what it returns")


def read_signature(function: types.FunctionType, names: Mapping[str, Any], *, is_batch: bool) -> Signature:
    """Read a function's annotations.

    Args:
        names: where names in text annotations are looked up besides the function's module and closure.

    Raises:
        FunctionSignatureError: an annotation that cannot be resolved, or has no column type.
    """
    known = {**names, **closed_over(function)}
    try:
        hints = typing.get_type_hints(function, localns=known or None, include_extras=True)
    except NameError as error:
        raise FunctionSignatureError(f"an annotation of {function.__name__}() is not defined: {error}") from error
    slots = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in FILLED:
            try:
                slots.append(_slot(parameter, hints[parameter.name], known, is_batch=is_batch))
            except FunctionSignatureError as error:
                raise FunctionSignatureError(
                    f"parameter {parameter.name!r} of {function.__name__}(): {error}"
                ) from None
    if any(slot.form == "table" for slot in slots) and len(slots) > 1:
        raise FunctionSignatureError(f"{function.__name__}() takes a pa.Table, which has every column: drop the others")
    try:
        return Signature(tuple(slots), returned_of(hints["return"], known, is_batch=is_batch))
    except FunctionSignatureError as error:
        raise FunctionSignatureError(f"the result of {function.__name__}(): {error}") from None


def closed_over(function: types.FunctionType) -> dict[str, Any]:
    """The names of enclosing functions that a function uses, as far as they have a value yet."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # such as its own name, while it is being decorated
            values[name] = cell.cell_contents
    return values


def _slot(parameter: inspect.Parameter, hint: Any, names: Mapping[str, Any], *, is_batch: bool) -> Slot:
    has_default = parameter.default is not parameter.empty
    default = parameter.default if has_default else None
    bare, nullable = split_none(hint)
    form = ARROW_FORMS.get(bare, "value") if isinstance(bare, type) else "value"
    if form != "value" and not is_batch:
        raise FunctionSignatureError(f"{annotation_text(bare)} needs @function(batch=True)")
    shape = shape_of(hint, names) if form == "value" else None
    if shape is not None and is_batch:
        if shape.kind != "list":
            raise FunctionSignatureError(
                f"a batch function takes list[{shape.text}], pa.Array or pa.Table, found {shape.text}"
            )
        form, shape = "list", shape.items[0]
        nullable = shape.nullable
    return Slot(
        name=parameter.name,
        text=annotation_text(hint),
        form=form,
        shape=shape,
        is_keyword=parameter.kind is parameter.KEYWORD_ONLY,
        has_default=has_default,
        default=default,
        nullable=nullable or form in ("array", "table") or (has_default and default is None),
    )


def _parameter(slot: Slot) -> Parameter:
    default = slot.default if isinstance(slot.default, str | bool | type(None)) or _is_number(slot.default) else None
    return Parameter(
        name=slot.name,
        type=slot.text,
        kind=slot.kind,
        has_default=slot.has_default,
        default=default,
        nullable=slot.nullable,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < 2**53  # NaN is not below, and JSON has no more digits
