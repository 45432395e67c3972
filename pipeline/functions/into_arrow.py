"""Results to a column: values checked against the declared shape, built in bulk, or an error for that row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from pipeline.functions.failures import describe_error
from pipeline.functions.shape import Shape

Writer = Callable[[Any], Any]

# Types whose values Arrow takes as they are: a column of them is checked by one pass over `type`.
AS_THEY_ARE: dict[str, frozenset[type]] = {
    "str": frozenset({str}),
    "int": frozenset({int}),
    "float": frozenset({float}),
    "bool": frozenset({bool}),
    "bytes": frozenset({bytes}),
}


def column_of(values: Sequence[Any], shape: Shape) -> tuple[pa.Array, dict[int, str]]:
    """The values as a column of the declared type, null where None or in error, and the errors by row.

    A None is taken as it is: whether a row may have none is the caller's question.
    """
    allowed = AS_THEY_ARE.get(shape.kind)
    errors: dict[int, str] = {}
    if allowed is None or not set(map(type, values)) <= allowed | {type(None)}:
        values = _convert(values, writer(shape), errors)
    try:
        return pa.array(values, shape.arrow), errors
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.array(_one_by_one(values, shape, errors), shape.arrow), errors


def _convert(values: Sequence[Any], write: Writer, errors: dict[int, str]) -> list[Any]:
    converted = []
    for row, value in enumerate(values):
        try:
            converted.append(None if value is None else write(value))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # properties and validators are the user's code, which may exit
            converted.append(None)
            errors[row] = describe_error(error, named=False)
    return converted


def _one_by_one(values: Sequence[Any], shape: Shape, errors: dict[int, str]) -> list[Any]:
    """The values without those that Arrow refuses: integers beyond 64 bits, text that is no Unicode."""
    kept = []
    for row, value in enumerate(values):
        try:
            pa.array([value], shape.arrow)
            kept.append(value)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            kept.append(None)
            errors[row] = f"returned a {shape.text} that no column can hold: {describe_error(error, named=False)}"
    return kept


def writer(shape: Shape) -> Writer:
    """The check and conversion of one value that is not None; it raises TypeError for another type."""
    make = STRUCTURED.get(shape.kind)
    return make(shape) if make else lambda value: _scalar(shape, value)


def _wrong(value: Any, shape: Shape) -> TypeError:
    return TypeError(f"returned {type(value).__name__}, declared {shape.text}")


def _scalar(shape: Shape, value: Any) -> Any:
    kind = shape.kind
    if kind == "int" and hasattr(value, "__index__"):
        return operator.index(value)
    if kind == "float" and hasattr(value, "__float__"):
        return float(value)
    if kind == "bool" and type(value).__name__ in ("bool", "bool_"):  # numpy's too
        return bool(value)
    if not isinstance(value, shape.python) or (kind == "date" and hasattr(value, "hour")):
        raise _wrong(value, shape)
    if kind == "ipv4":
        return int(value)
    return _text(value) if kind in ("str", "decimal", "uuid", "ipv6") else value


def _text(value: Any) -> str:
    return str.__str__(value) if isinstance(value, str) else str(value)


def _inner(shape: Shape) -> Writer:
    write = writer(shape)

    def one(value: Any) -> Any:
        if value is None:
            if shape.nullable:
                return None
            raise TypeError(f"returned None inside, declared {shape.text}")
        return write(value)

    return one


def _list(shape: Shape) -> Writer:
    item = _inner(shape.items[0])

    def write(value: Any) -> list[Any]:
        if not isinstance(value, shape.python):
            raise _wrong(value, shape)
        items = value if isinstance(value, list | tuple) else sorted(value, key=repr)
        return [item(entry) for entry in items]

    return write


def _map(shape: Shape) -> Writer:
    key, value = (_inner(item) for item in shape.items)

    def write(found: Any) -> list[tuple[Any, Any]]:
        if not isinstance(found, dict):
            raise _wrong(found, shape)
        return [(key(k), value(v)) for k, v in found.items()]

    return write


def _struct(shape: Shape) -> Writer:
    writers = {name: _inner(item) for name, item in zip(shape.names, shape.items, strict=True)}
    nullable = {name for name, item in zip(shape.names, shape.items, strict=True) if item.nullable}
    is_mapping = issubclass(shape.python, dict)

    def write(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict if is_mapping else shape.python):
            raise _wrong(value, shape)
        found = value if is_mapping else {name: getattr(value, name) for name in writers}
        unknown = [name for name in found if name not in writers]
        missing = [name for name in writers if name not in found and name not in shape.optional | nullable]
        if unknown or missing:
            raise TypeError(
                f"{shape.text} {f'has no field {unknown[0]!r}' if unknown else f'lacks field {missing[0]!r}'}"
            )
        return {name: convert(found[name]) for name, convert in writers.items() if name in found}

    return write


def _enum(shape: Shape) -> Writer:
    base = writer(shape.items[0])

    def write(value: Any) -> Any:
        if not isinstance(value, shape.python):
            raise _wrong(value, shape)
        return base(value.value)

    return write


def _literal(shape: Shape) -> Writer:
    def write(value: Any) -> Any:
        if value not in shape.choices:
            raise TypeError(f"returned {value!r}, declared {shape.text}")
        return value

    return write


STRUCTURED: dict[str, Callable[[Shape], Writer]] = {
    "list": _list,
    "map": _map,
    "struct": _struct,
    "enum": _enum,
    "literal": _literal,
}
