"""Columns to arguments: Arrow values as the annotation wants them, without loss, or an error for that row."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pipeline.functions.failures import describe_error
from pipeline.functions.shape import Shape

Reader = Callable[[Any], Any]


def fits(wire: str, column: pa.DataType) -> bool:
    """Whether a column of this type can hold arguments of a kind at all; a single value may still not convert."""
    if pt.is_dictionary(column):
        column = column.value_type
    return pt.is_null(column) or any(check(column) for check in COLUMN_TYPES[wire])


def arguments(column: pa.ChunkedArray, shape: Shape) -> tuple[list[Any], dict[int, str]]:
    """The column's values for one parameter, None where null, and the errors of rows that do not convert."""
    values, errors = _plain(column)
    read = reader(shape, column.type)
    if read is None:
        return values, errors
    for row, value in enumerate(values):
        if value is None:
            continue
        try:
            values[row] = read(value)
        except Exception as error:  # noqa: BLE001  # constructors and validators are the user's code
            values[row] = None
            errors[row] = f"is not {shape.text}: {describe_error(error, named=False)}"
    return values, errors


def _plain(column: pa.ChunkedArray) -> tuple[list[Any], dict[int, str]]:
    """Arrow's own conversion, column-wise; value by value only where one of them does not convert."""
    errors: dict[int, str] = {}
    if getattr(column.type, "unit", None) == "ns":
        column = _in_microseconds(column, errors)
    try:
        return column.to_pylist(), errors
    except (ValueError, OverflowError):  # text that is no UTF-8, dates beyond Python's years
        pass
    values: list[Any] = []
    for row, scalar in enumerate(column):
        try:
            values.append(scalar.as_py())
        except (ValueError, OverflowError) as error:
            values.append(None)
            errors[row] = f"cannot be read: {describe_error(error, named=False)}"
    return values, errors


def _in_microseconds(column: pa.ChunkedArray, errors: dict[int, str]) -> pa.ChunkedArray:
    """Python's clock types have no nanoseconds: values that would lose some are errors."""
    tz = {"tz": column.type.tz} if pt.is_timestamp(column.type) else {}
    make = pa.timestamp if tz else pa.duration if pt.is_duration(column.type) else pa.time64
    cut = column.cast(make("us", **tz), safe=False)
    for row in pc.indices_nonzero(pc.not_equal(cut.cast(column.type), column)).to_pylist():
        errors[row] = "has nanoseconds, which Python's clock types cannot hold"
    return cut


def reader(shape: Shape, column: pa.DataType) -> Reader | None:
    """The conversion of one value that is not None; None where Arrow's own value is already right."""
    if pt.is_dictionary(column):
        column = column.value_type
    if pt.is_null(column):
        return None
    make = STRUCTURED.get(shape.kind)
    return make(shape, column) if make else _scalar(shape.kind, column)


def _scalar(kind: str, column: pa.DataType) -> Reader | None:
    for check, read in SCALAR_READERS[kind].items():
        if check(column):
            return read
    return _refuse(column)


def _refuse(column: pa.DataType) -> Reader:
    def refuse(_value: Any) -> Any:
        raise TypeError(f"the column holds {column}")

    return refuse


def _list(shape: Shape, column: pa.DataType) -> Reader:
    if not _is_list(column):
        return _refuse(column)
    item = _item(shape.items[0], column.value_type)
    make = shape.python
    return lambda value: make(map(item, value))


def _item(shape: Shape, column: pa.DataType) -> Reader:
    """A reader of values inside values, which has to look at nulls by itself."""
    read = reader(shape, column)

    def one(value: Any) -> Any:
        if value is None:
            if shape.nullable:
                return None
            raise ValueError(f"holds a null where {shape.text} is expected")
        return value if read is None else read(value)

    return one


def _map(shape: Shape, column: pa.DataType) -> Reader:
    key, value = shape.items
    if pt.is_map(column):
        read_key, read_value = _item(key, column.key_type), _item(value, column.item_type)
        return lambda pairs: {read_key(k): read_value(v) for k, v in pairs}
    if not pt.is_struct(column) or key.kind != "str":
        return _refuse(column)
    readers = {column.field(i).name: _item(value, column.field(i).type) for i in range(column.num_fields)}
    return lambda fields: {name: readers[name](item) for name, item in fields.items()}


def _struct(shape: Shape, column: pa.DataType) -> Reader:
    if not pt.is_struct(column):
        return _refuse(column)
    types = {column.field(i).name: column.field(i).type for i in range(column.num_fields)}
    fields_of_class = list(zip(shape.names, shape.items, strict=True))
    readers = {name: _item(field, types[name]) for name, field in fields_of_class if name in types}
    absent = [(name, field) for name, field in fields_of_class if name not in types and name not in shape.optional]
    missing = [name for name, field in absent if not field.nullable]
    validate = getattr(shape.python, "model_validate", None)

    def read(value: dict[str, Any]) -> Any:
        if missing:
            raise ValueError(f"field {missing[0]!r} is missing")
        fields: dict[str, Any] = {name: None for name, _ in absent}
        for name, convert in readers.items():
            if value[name] is None and name in shape.optional:
                continue  # JSON Lines fill absent fields with null
            fields[name] = convert(value[name])
        return validate(fields, by_name=True) if validate else shape.python(**fields)

    return read


def _enum(shape: Shape, column: pa.DataType) -> Reader:
    base = reader(shape.items[0], column)
    return lambda value: shape.python(value if base is None else base(value))


def _literal(shape: Shape, column: pa.DataType) -> Reader:
    base = reader(shape.items[0], column)

    def read(value: Any) -> Any:
        found = value if base is None else base(value)
        if found not in shape.choices:
            raise ValueError(f"{found!r} is none of {', '.join(map(repr, shape.choices))}")
        return found

    return read


def _whole(value: Any) -> int:
    if value != int(value):
        raise ValueError(f"{value} has a fraction")
    return int(value)


def _exact_float(value: int) -> float:
    if int(float(value)) != value:
        raise ValueError(f"{value} is too large for a float to hold exactly")
    return float(value)


def _truth(value: int) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{value} is neither 0 nor 1")
    return bool(value)


def _is_text(column: pa.DataType) -> bool:
    return any(check(column) for check in (pt.is_string, pt.is_large_string, pt.is_string_view))


def _is_bytes(column: pa.DataType) -> bool:
    checks = (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary, pt.is_binary_view)
    return any(check(column) for check in checks)


def _is_list(column: pa.DataType) -> bool:
    checks = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list, pt.is_list_view, pt.is_large_list_view)
    return any(check(column) for check in checks)


SCALAR_READERS: dict[str, dict[Callable[[pa.DataType], bool], Reader | None]] = {
    "str": {_is_text: None, pt.is_integer: str},
    "int": {pt.is_integer: None, pt.is_floating: _whole, pt.is_decimal: _whole},
    "float": {pt.is_floating: None, pt.is_integer: _exact_float, pt.is_decimal: float},
    "bool": {pt.is_boolean: None, pt.is_integer: _truth},
    "bytes": {_is_bytes: None},
    "datetime": {pt.is_timestamp: None, _is_text: datetime.datetime.fromisoformat},
    "date": {pt.is_date: None, _is_text: datetime.date.fromisoformat},
    "time": {pt.is_time: None, _is_text: datetime.time.fromisoformat},
    "timedelta": {pt.is_duration: None},
    "decimal": {pt.is_decimal: None, pt.is_integer: decimal.Decimal, _is_text: decimal.Decimal},
    "uuid": {_is_text: uuid.UUID, pt.is_fixed_size_binary: lambda value: uuid.UUID(bytes=value)},
    "ipv4": {pt.is_integer: ipaddress.IPv4Address, _is_text: ipaddress.IPv4Address},
    "ipv6": {_is_text: ipaddress.IPv6Address},
    "none": {pt.is_null: None},
}
STRUCTURED: dict[str, Callable[[Shape, pa.DataType], Reader]] = {
    "list": _list,
    "map": _map,
    "struct": _struct,
    "enum": _enum,
    "literal": _literal,
}
COLUMN_TYPES: dict[str, tuple[Callable[[pa.DataType], bool], ...]] = {
    **{kind: tuple(readers) for kind, readers in SCALAR_READERS.items()},
    "list": (_is_list,),
    "map": (pt.is_map, pt.is_struct),
    "struct": (pt.is_struct,),
    "any": (lambda _column: True,),
}
