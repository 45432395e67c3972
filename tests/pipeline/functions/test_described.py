"""Values that a function refers to: what differs in type or state is described differently, the same everywhere."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import pytest

from pipeline.functions.described import Describer
from pipeline.records.digest import digest_json


class OwnDict(dict):  # type: ignore[type-arg]
    pass


class OwnSet(set):  # type: ignore[type-arg]
    pass


class OwnText(str):
    pass


class Level(IntEnum):
    LOW = 1


Pair = namedtuple("Pair", "a b")
Couple = namedtuple("Couple", "a b")


def own(kind: type, *arguments: Any, **state: Any) -> Any:
    made = kind(*arguments)
    vars(made).update(state)
    return made


def described(value: Any) -> str:
    return digest_json(Describer().describe(value))


@pytest.mark.parametrize(
    "values",
    [
        [1, 1.0, True, "1", b"1", 1 + 0j, Level.LOW],
        [0, 0.0, -0.0, False, None, ""],
        [[1], [1.0], [True], (1,), {1}, frozenset({1}), deque([1]), range(1, 2)],
        [2**53, float(2**53), str(2**53)],
        [b"a", bytearray(b"a"), "a", memoryview],
        [float("nan"), float("inf"), float("-inf"), "nan"],
        [{"a": 1}, {"a": 1.0}, OrderedDict(a=1), OwnDict(a=1), Counter(a=1), MappingProxyType({"a": 1})],
        [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
        [defaultdict(int, a=1), defaultdict(list, a=1), defaultdict(None, a=1), defaultdict(int, a=2)],
        [own(OwnDict, a=1), own(OwnDict, a=2), OwnDict()],
        [{"a"}, OwnSet({"a"}), OwnSet({"b"}), own(OwnSet, {"a"}, b=1)],
        ["a", OwnText("a"), OwnText("b")],
        [(1, 2), Pair(1, 2), Couple(1, 2), Pair(1, 2.0)],
        [{1: "a"}, {1.0: "a"}, {True: "a"}],
    ],
)
def test_values_that_differ_are_described_differently(values: list[Any]) -> None:
    assert len({described(value) for value in values}) == len(values)


PROGRAM = """
from collections import Counter, OrderedDict, defaultdict, namedtuple
from pipeline.functions.described import Describer
from pipeline.records.digest import digest_json
class OwnSet(set):
    pass
class OwnDict(dict):
    pass
Pair = namedtuple("Pair", "a b")
words = ("one", "two", "three", "four")
values = [OwnSet(words), defaultdict(set, {"a": set(words)}), OrderedDict(a=1.0), Counter(words), Pair(1, 2.5)]
print(digest_json(Describer().describe([*values, OwnDict(a=frozenset(words)), -0.0, bytearray(b"x")])))
"""


def test_values_are_described_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(found) == 1


def test_a_container_that_holds_itself_is_described() -> None:
    circle: OwnDict = OwnDict()
    circle["self"] = circle
    assert described(circle) == described(circle) != described(OwnDict(self={}))
