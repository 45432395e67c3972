"""Annotations to Arrow types, and the ones that are refused when the function is declared."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import ipaddress
import typing
import uuid
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict

import pyarrow as pa
import pytest
from pydantic import BaseModel

from pipeline.errors import FunctionSignatureError
from pipeline.functions import function
from pipeline.functions.shape import annotation_text, shape_of
from scorers.result import EvaluationScorerResult

TEXT = pa.large_string()


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: float
    label: str | None = None


class Pair(NamedTuple):
    left: int
    right: int = 0


class Message(TypedDict):
    role: str
    content: NotRequired[str]


class Answer(BaseModel):
    intent: str
    points: list[Point] = []


@dataclasses.dataclass
class Tree:
    children: list[Tree]


@dataclasses.dataclass
class Nothing:
    pass


@pytest.mark.parametrize(
    "annotation, expected",
    [
        (str, TEXT),
        (int, pa.int64()),
        (float, pa.float64()),
        (bool, pa.bool_()),
        (bytes, pa.large_binary()),
        (datetime.datetime, pa.timestamp("us", tz="UTC")),
        (datetime.date, pa.date32()),
        (datetime.time, pa.time64("us")),
        (datetime.timedelta, pa.duration("us")),
        (decimal.Decimal, TEXT),
        (uuid.UUID, TEXT),
        (ipaddress.IPv4Address, pa.uint32()),
        (ipaddress.IPv6Address, TEXT),
        (None, pa.null()),
        (str | None, TEXT),
        (Optional[int], pa.int64()),  # noqa: UP045
        (list[str], pa.large_list(TEXT)),
        (set[int], pa.large_list(pa.int64())),
        (frozenset[int], pa.large_list(pa.int64())),
        (tuple[float, ...], pa.large_list(pa.float64())),
        (dict[str, float], pa.map_(TEXT, pa.float64())),
        (Colour, TEXT),
        (Level, pa.int64()),
        (Literal["yes", "no"], TEXT),
        (Annotated[str, "note"], TEXT),
        (typing.NewType("Name", str), TEXT),
        (Point, pa.struct([("x", pa.float64()), ("label", TEXT)])),
        (Pair, pa.struct([("left", pa.int64()), ("right", pa.int64())])),
        (Message, pa.struct([("role", TEXT), ("content", TEXT)])),
        (
            Answer,
            pa.struct([("intent", TEXT), ("points", pa.large_list(pa.struct([("x", pa.float64()), ("label", TEXT)])))]),
        ),
    ],
)
def test_an_annotation_has_one_arrow_type(annotation: Any, expected: pa.DataType) -> None:
    assert shape_of(annotation).arrow == expected


@pytest.mark.parametrize(
    "annotation, advice",
    [
        (list, r"list\[str\]"),
        (typing.List, r"list\[str\]"),  # noqa: UP006
        (dict, "dataclass"),
        (Any, "use str"),
        (object, "use str"),
        (int | str, "only `T | None`"),
        (tuple[int, str], "NamedTuple"),
        (Literal["a", 1], "one type"),
        (Tree, "contains itself"),
        (Nothing, "no fields"),
        (complex, "use str"),
    ],
)
def test_an_annotation_without_column_type_is_refused_with_advice(annotation: Any, advice: str) -> None:
    with pytest.raises(FunctionSignatureError, match=advice.replace("|", r"\|")):
        shape_of(annotation)


@pytest.mark.parametrize(
    "annotation, text",
    [
        (list[str] | None, "list[str] | None"),
        (dict[str, Point], "dict[str, Point]"),
        (Literal["a"], "Literal['a']"),
        (tuple[int, ...], "tuple[int, ...]"),
        (EvaluationScorerResult, "EvaluationScorerResult"),
    ],
)
def test_annotations_are_shown_as_they_are_written(annotation: Any, text: str) -> None:
    assert annotation_text(annotation) == text


def test_a_missing_annotation_is_refused_when_the_function_is_declared() -> None:
    with pytest.raises(FunctionSignatureError, match=r"'text' of shout\(\) has no annotation"):

        @function
        def shout(text) -> str:  # type: ignore[no-untyped-def]
            return text

    with pytest.raises(TypeError, match="no return annotation"):

        @function
        def quiet(text: str):  # type: ignore[no-untyped-def]
            return text


def test_a_generator_is_refused() -> None:
    with pytest.raises(FunctionSignatureError, match="yields"):

        @function
        def words(text: str) -> list[str]:  # type: ignore[misc]
            yield from text.split()


def test_text_annotations_of_a_nested_function_are_found_in_the_enclosing_one() -> None:
    @dataclasses.dataclass
    class Local:
        length: int

    @function
    def measure(text: str) -> Local:
        return Local(len(text))

    assert measure.output_type == pa.struct([("length", pa.int64())])


def test_a_class_may_be_defined_after_the_function() -> None:
    scope: dict[str, Any] = {}
    lines = [
        "from __future__ import annotations",
        "import dataclasses",
        "from pipeline.functions import function",
        "@function",
        "def late(text: str) -> Late: return Late(text)",
        "@dataclasses.dataclass",
        "class Late:",
        "    text: str",
    ]
    exec("\n".join(lines), scope)
    assert scope["late"].output_type == pa.struct([("text", TEXT)])


def test_an_annotation_that_is_never_defined_is_reported_when_it_is_needed() -> None:
    @function
    def lost(text: str) -> Missing:  # type: ignore[name-defined]  # noqa: F821
        return text

    with pytest.raises(FunctionSignatureError, match="Missing"):
        lost.deploy("memory://lost")


def test_star_parameters_need_annotations_and_bind_to_nothing() -> None:
    @function
    def many(text: str, *rest: int, **more: str) -> str:
        return text

    assert [parameter.name for parameter in many.parameters] == ["text"]


def test_parameters_record_type_default_and_whether_null_is_admitted() -> None:
    @function
    def f(a: str, b: int = 3, c: list[float] | None = None) -> str:
        return a

    a, b, c = f.parameters
    assert (a.type, a.kind, a.has_default, a.nullable) == ("str", "str", False, False)
    assert (b.type, b.kind, b.default, b.nullable) == ("int", "int", 3, False)
    assert (c.type, c.kind, c.has_default, c.nullable) == ("list[float] | None", "list", True, True)
