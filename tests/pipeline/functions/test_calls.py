"""Rows to calls to an output column: coercion of arguments, checks of results, failures with owners."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypedDict

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from pipeline.functions import FunctionCaller, function
from pipeline.functions.caller import CallColumns

HALF_PAST = datetime.datetime(2026, 5, 1, 12, 30, tzinfo=datetime.UTC)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: float
    label: str | None = None


class Message(TypedDict):
    role: str
    content: str


class Pair(NamedTuple):
    left: int
    right: int


class Grade(BaseModel):
    points: int = Field(ge=0)
    reason: str = ""


def call(func: Callable[..., Any], **columns: Any) -> CallColumns:
    arrays = {n: v if isinstance(v, pa.Array | pa.ChunkedArray) else pa.array(v) for n, v in columns.items()}
    return FunctionCaller(function(func)).call(pa.table(arrays))


def echo(kind: Any) -> Callable[..., Any]:
    """A function that shows what it was given."""

    def show(value: Any) -> str:
        return repr(value)

    show.__annotations__ = {"value": kind, "return": str}
    return show


@pytest.mark.parametrize(
    "kind, column, expected",
    [
        (str, pa.array(["a"]), "'a'"),
        (str, pa.array(["a"]).dictionary_encode(), "'a'"),
        (str, pa.array([42]), "'42'"),
        (int, pa.array([7], pa.int8()), "7"),
        (int, pa.array([3.0]), "3"),
        (float, pa.array([3]), "3.0"),
        (float, pa.array([decimal.Decimal("0.5")]), "0.5"),
        (bool, pa.array([1]), "True"),
        (bytes, pa.array([b"x"]), "b'x'"),
        (datetime.datetime, pa.array([HALF_PAST], pa.timestamp("ns", tz="UTC")), None),
        (datetime.date, pa.array(["2026-05-01"]), "datetime.date(2026, 5, 1)"),
        (datetime.date, pa.array([datetime.date(2026, 5, 1)]), "datetime.date(2026, 5, 1)"),
        (datetime.timedelta, pa.array([1_000_000_000], pa.duration("ns")), "datetime.timedelta(seconds=1)"),
        (decimal.Decimal, pa.array(["1.50"]), "Decimal('1.50')"),
        (uuid.UUID, pa.array(["12345678123456781234567812345678"]), None),
        (Colour, pa.array(["red"]), "<Colour.RED: 'red'>"),
        (Literal["a", "b"], pa.array(["a"]), "'a'"),
        (list[float], pa.array([[1, 2]]), "[1.0, 2.0]"),
        (tuple[str, ...], pa.array([["a"]]), "('a',)"),
        (set[int], pa.array([[1, 1]]), "{1}"),
        (dict[str, int], pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "{'a': 1}"),
        (dict[str, int], pa.array([{"a": 1}]), "{'a': 1}"),
        (Point, pa.array([{"x": 1}]), "Point(x=1.0, label=None)"),
        (Message, pa.array([{"role": "user", "content": "hi"}]), "{'role': 'user', 'content': 'hi'}"),
        (Pair, pa.array([{"left": 1, "right": 2}]), "Pair(left=1, right=2)"),
        (Grade, pa.array([{"points": 1, "reason": None}]), "Grade(points=1, reason='')"),
        (list[Message], pa.array([[{"role": "u", "content": "c"}]]), "[{'role': 'u', 'content': 'c'}]"),
        (str | None, pa.array([None], pa.string()), "None"),
        (str | None, pa.nulls(1), "None"),
    ],
)
def test_a_value_becomes_what_the_annotation_says(kind: Any, column: pa.Array, expected: str | None) -> None:
    result = call(echo(kind), value=column)
    assert result.error.to_pylist() == [None]
    if expected is not None:
        assert result.output.to_pylist() == [expected]


@pytest.mark.parametrize(
    "kind, column, message",
    [
        (str, pa.array([None], pa.string()), "column 'value' is null"),
        (str, pa.nulls(1), "column 'value' is null"),
        (int, pa.array([3.5]), "has a fraction"),
        (int, pa.array([float("nan")]), "is not int"),
        (float, pa.array([2**53 + 1]), "too large"),
        (bool, pa.array([2]), "neither 0 nor 1"),
        (datetime.date, pa.array(["yesterday"]), "is not date"),
        (decimal.Decimal, pa.array(["1,5"]), "is not Decimal"),
        (Colour, pa.array(["green"]), "green"),
        (Literal["a", "b"], pa.array(["c"]), "'c' is none of 'a', 'b'"),
        (list[str], pa.array([["a", None]]), "holds a null"),
        (Point, pa.array([{"label": "a"}]), "field 'x' is missing"),
        (Grade, pa.array([{"points": -1}]), "points"),
        (datetime.datetime, pa.array([1], pa.timestamp("ns")), "nanoseconds"),
        (datetime.datetime, pa.array([10**18], pa.timestamp("s")), "cannot be read"),
    ],
)
def test_a_value_that_does_not_fit_is_that_rows_error_and_the_datas_fault(
    kind: Any, column: pa.Array, message: str
) -> None:
    result = call(echo(kind), value=column)
    assert message in result.error[0].as_py()
    assert result.owner.to_pylist() == ["data"]
    assert result.output.to_pylist() == [None]


def test_text_that_is_no_unicode_is_that_rows_error() -> None:
    column = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")]
    )
    result = call(echo(str), value=column)
    assert result.output.to_pylist() == ["'a'", None]
    assert "cannot be read" in result.error[1].as_py()


def test_a_default_stands_in_for_a_missing_column_and_for_null() -> None:
    def greet(name: str, /, greeting: str = "hello", *, mark: str = "!") -> str:
        return f"{greeting} {name}{mark}"

    assert call(greet, name=["a"]).output.to_pylist() == ["hello a!"]
    assert call(greet, name=["a", "b"], mark=["?", None]).output.to_pylist() == ["hello a?", "hello b!"]


def test_a_function_without_parameters_is_called_for_every_row() -> None:
    def one() -> int:
        return 1

    assert call(one, x=["a", "b"]).output.to_pylist() == [1, 1]


def test_an_empty_table_gives_an_empty_column_of_the_declared_type() -> None:
    result = call(echo(str), value=pa.array([], pa.string()))
    assert len(result.output) == 0
    assert result.output.type == pa.large_string()


@dataclasses.dataclass
class Reading:
    value: float
    tags: list[str]


@pytest.mark.parametrize(
    "kind, value, expected",
    [
        (float, 1, 1.0),
        (float, True, 1.0),
        (float, float("inf"), float("inf")),
        (int, True, 1),
        (str, "a", "a"),
        (str | None, None, None),
        (decimal.Decimal, decimal.Decimal("1.50"), "1.50"),
        (Colour, Colour.RED, "red"),
        (list[float], [1, 2.5], [1.0, 2.5]),
        (tuple[int, ...], (1, 2), [1, 2]),
        (set[str], {"b", "a"}, ["a", "b"]),
        (dict[str, int], {"a": 1}, [("a", 1)]),
        (Reading, Reading(1, ["a"]), {"value": 1.0, "tags": ["a"]}),
        (Pair, Pair(1, 2), {"left": 1, "right": 2}),
        (Message, {"role": "r", "content": "c"}, {"role": "r", "content": "c"}),
        (Grade, Grade(points=1), {"points": 1, "reason": ""}),
        (datetime.datetime, HALF_PAST, HALF_PAST),
        (datetime.timedelta, datetime.timedelta(seconds=1), datetime.timedelta(seconds=1)),
        (bytes, b"x", b"x"),
        (Literal["a"], "a", "a"),
    ],
)
def test_a_result_travels_as_its_declared_type(kind: Any, value: Any, expected: Any) -> None:
    def produce() -> Any:
        return value

    produce.__annotations__ = {"return": kind}
    result = call(produce, x=[1])
    assert result.error.to_pylist() == [None]
    assert result.output.to_pylist() == [expected]


@pytest.mark.parametrize(
    "kind, value, message",
    [
        (str, 1, "returned int, declared str"),
        (str, b"x", "returned bytes, declared str"),
        (str, None, "returned None, declared str"),
        (int, 1.5, "returned float, declared int"),
        (int, 2**70, "no column can hold"),
        (str, "\ud800", "no column can hold"),
        (float, "0.5", "returned str, declared float"),
        (bool, 1, "returned int, declared bool"),
        (list[str], "abc", "returned str, declared list[str]"),
        (list[str], ["a", 1], "returned int, declared str"),
        (list[str], ["a", None], "returned None inside"),
        (Reading, {"value": 1.0, "tags": []}, "returned dict, declared Reading"),
        (Message, {"role": "r"}, "lacks field 'content'"),
        (Message, {"role": "r", "content": "c", "more": 1}, "has no field 'more'"),
        (Literal["a"], "b", "returned 'b'"),
        (datetime.date, HALF_PAST, "returned datetime, declared date"),
    ],
)
def test_a_result_of_another_type_is_that_rows_error_and_the_models_fault(kind: Any, value: Any, message: str) -> None:
    def produce() -> Any:
        return value

    produce.__annotations__ = {"return": kind}
    result = call(produce, x=[1])
    assert message in result.error[0].as_py()
    assert result.owner.to_pylist() == ["model"]


def test_one_wrong_result_leaves_its_neighbours_alone() -> None:
    def mixed(n: int) -> str:
        return str(n) if n else n  # type: ignore[return-value]

    result = call(mixed, n=[1, 0, 2])
    assert result.output.to_pylist() == ["1", None, "2"]
    assert [error is None for error in result.error.to_pylist()] == [True, False, True]


VALUES = st.one_of(st.none(), st.text(max_size=3), st.integers(), st.floats(), st.booleans(), st.binary(max_size=2))


@settings(max_examples=80, deadline=None)
@given(values=st.lists(VALUES, max_size=12), cut=st.integers(0, 12), kind=st.sampled_from([str, int, float, bool]))
def test_where_a_table_is_cut_never_changes_a_result(values: list[Any], cut: int, kind: Any) -> None:
    def pick(n: int) -> Any:
        return values[n]

    pick.__annotations__["return"] = kind
    caller = FunctionCaller(function(pick))
    rows = pa.table({"n": pa.array(range(len(values)), pa.int64())})
    whole = caller.call(rows)
    parts = [caller.call(rows.slice(0, cut)), caller.call(rows.slice(cut))]
    for column in ("output", "error", "owner"):
        joined = pa.concat_arrays([getattr(part, column) for part in parts])
        assert str(joined.to_pylist()) == str(getattr(whole, column).to_pylist())
