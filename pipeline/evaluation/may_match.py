"""Whether a condition may be true on rows of which only bounds are known. What it does not understand, may be.

A walk over the syntax tree of a checked condition. It answers for SQL's three values: true, false, and null, which
is neither. Constants other than whole numbers are compared with a margin, since nobody knows in which type the
database compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from pipeline.evaluation.bounds import Bounds

_Node = Mapping[str, Any]
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_EXACT = 2**53  # whole numbers up to here are themselves as a double
_LARGEST_INTEGER = 2**127  # beyond, an integer literal is a double
_LARGEST_NUMBER = Decimal("1e300")
_MARGIN = 1e-12  # relative; a double carries 1e-16

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_OPERATORS = {
    "COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">", "COMPARE_GREATERTHANOREQUALTO": ">=",
}  # fmt: skip


class May(NamedTuple):
    """What a condition may be on some rows."""

    be_true: bool
    be_false: bool


class _Range(NamedTuple):
    """A constant, with its margin."""

    low: Any
    high: Any


UNKNOWN = May(True, True)


def may_be(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    """What a condition may be on rows within bounds.

    Args:
        node: of `CheckedCondition.tree`.
        bounds: by column; nothing is known of a column that is not there.

    Returns:
        `be_true` is False only where no such row can make it true; `be_false` likewise.
    """
    handler = _HANDLERS.get(node["type"])
    return UNKNOWN if handler is None else handler(node, bounds)


def _conjunction(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    each = [may_be(child, bounds) for child in node["children"]]
    return May(all(may.be_true for may in each), any(may.be_false for may in each))


def _disjunction(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    each = [may_be(child, bounds) for child in node["children"]]
    return May(any(may.be_true for may in each), all(may.be_false for may in each))


def _negation(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    may = may_be(node["children"][0], bounds)
    return May(may.be_false, may.be_true)


def _is_null(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    column = _column(node["children"][0], bounds)
    return UNKNOWN if column is None else May(column.has_nulls, column.has_values)


def _is_not_null(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    may = _is_null(node, bounds)
    return May(may.be_false, may.be_true)


def _flag(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    """A boolean column as it stands."""
    column = _column(node, bounds)
    if column is None or column.kind is not bool:
        return UNKNOWN
    return _compared(column, "=", _Range(True, True))


def _comparison(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    operator = _OPERATORS[node["type"]]
    found = _against(node["left"], node["right"], operator, bounds)
    return found or _against(node["right"], node["left"], _MIRRORED[operator], bounds) or UNKNOWN


def _against(left: _Node, right: _Node, operator: str, bounds: Mapping[str, Bounds]) -> May | None:
    column = _column(left, bounds)
    constant = None if column is None else _constant(right, column.kind)
    return None if column is None or constant is None else _compared(column, operator, constant)


def _between(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    above = _against(node["input"], node["lower"], ">=", bounds) or UNKNOWN
    below = _against(node["input"], node["upper"], "<=", bounds) or UNKNOWN
    return May(above.be_true and below.be_true, above.be_false or below.be_false)


def _is_in(node: _Node, bounds: Mapping[str, Bounds]) -> May:
    column, *values = node["children"]
    each = [_against(column, value, "=", bounds) or UNKNOWN for value in values]
    return May(any(may.be_true for may in each), all(may.be_false for may in each))


def _compared(column: Bounds, operator: str, constant: _Range) -> May:
    return May(_possible(column, operator, constant), _possible(column, _OPPOSITE[operator], constant))


def _possible(column: Bounds, operator: str, constant: _Range) -> bool:
    """Whether a value within the bounds may stand so to the constant."""
    if not column.has_values:
        return False
    least, greatest = column.least, column.greatest
    if least is None or greatest is None:
        return True
    if column.kind is float and operator in (">", ">=", "<>"):
        return True  # NaN is in no statistics, and in SQL it is greater than every number
    possible: dict[str, bool] = {
        "=": least <= constant.high and greatest >= constant.low,
        "<>": not least == greatest == constant.low == constant.high,
        "<": least < constant.high,
        "<=": least <= constant.high,
        ">": greatest > constant.low,
        ">=": greatest >= constant.low,
    }
    return possible[operator]


def _column(node: _Node, bounds: Mapping[str, Bounds]) -> Bounds | None:
    if node["type"] != "COLUMN_REF" or len(node["column_names"]) != 1:
        return None
    return bounds.get(node["column_names"][0])


def _constant(node: _Node, kind: type) -> _Range | None:
    """A constant as the database compares it with values of `kind`; None where that is not certain."""
    if kind is date and node["type"] == "OPERATOR_CAST":
        is_date = node["type_expr"].get("type_name", "").lower() == "date"
        return _constant(node["child"], date) if is_date and not node["try_cast"] else None
    if node["type"] != "VALUE_CONSTANT":
        return None
    literal, text = node["literal"]["kind"], node["literal"]["text"]
    if kind in (int, float):
        return _number(literal, text, kind)
    if kind is bool and literal == "BOOLEAN":
        return _exactly(text.lower() == "true")
    if kind is str and literal == "STRING":
        return _exactly(text)
    return _day(text) if kind is date and literal == "STRING" else None


def _number(literal: str, text: str, kind: type) -> _Range | None:
    try:
        value = Decimal(text)
    except ArithmeticError:  # written in another way, such as 0xFF
        return None
    if literal not in ("INTEGER", "NUMERIC") or abs(value) > _LARGEST_NUMBER:
        return None
    if literal == "INTEGER" and abs(value) < (_LARGEST_INTEGER if kind is int else _EXACT):
        return _exactly(int(value))
    margin = abs(float(value)) * _MARGIN
    return _Range(float(value) - margin, float(value) + margin)


def _day(text: str) -> _Range | None:
    try:
        return _exactly(date.fromisoformat(text)) if _ISO_DATE.match(text) else None
    except ValueError:
        return None


def _exactly(value: Any) -> _Range:
    return _Range(value, value)


_HANDLERS: Mapping[str, Callable[[_Node, Mapping[str, Bounds]], May]] = {
    "CONJUNCTION_AND": _conjunction,
    "CONJUNCTION_OR": _disjunction,
    "OPERATOR_NOT": _negation,
    "OPERATOR_IS_NULL": _is_null,
    "OPERATOR_IS_NOT_NULL": _is_not_null,
    "COMPARE_BETWEEN": _between,
    "COMPARE_IN": _is_in,
    "COLUMN_REF": _flag,
    **dict.fromkeys(_OPERATORS, _comparison),
}
