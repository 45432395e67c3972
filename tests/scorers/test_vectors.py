"""The vectors of the scorers: rows and settings, and what must come of them."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
import types
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import scorers
from scorers.builtins import make_builtin

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "scorers.json").read_text(encoding="utf-8"))
ERRORS: dict[str, tuple[type[Exception], ...]] = {
    "bad_inputs": (ValueError,),
    "bad_inputs_type": (TypeError,),
    "bad_option": (ValueError,),
    "bad_option_type": (TypeError,),
    "bad_pattern": (ValueError,),
    "bad_name": (ValueError,),
    "bad_expression": (ValueError,),
    "missing_column": (TypeError,),
    "bad_score_type": (TypeError,),
    "bad_score": (ValueError, OverflowError),
    "bad_metadata": (TypeError,),
}


class FloatLike:
    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


def special(name: str, of: Any) -> Any:
    if name == "$circular":
        circular: dict[str, Any] = {}
        circular[of] = circular
        return circular
    value = decoded(of)
    make = {
        "$float": float,
        "$int": int,
        "$repeat": lambda pair: pair[0] * pair[1],
        "$concat": "".join,
        "$codepoints": lambda points: "".join(map(chr, points)),
        "$bytes": bytes.fromhex,
        "$decimal": decimal.Decimal,
        "$date": datetime.date.fromisoformat,
        "$datetime": datetime.datetime.fromisoformat,
        "$complex": lambda pair: complex(*pair),
        "$tuple": tuple,
        "$set": set,
        "$items": dict,
        "$mappingproxy": types.MappingProxyType,
        "$float_like": FloatLike,
        "$re_flag": lambda flag: getattr(re, flag),
    }
    return make[name](value)


def decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and next(iter(value)).startswith("$"):
        return special(*next(iter(value.items())))
    return {key: decoded(member) for key, member in value.items()}


def column(value: Any) -> pa.Array:
    """One row; a list of different types is a union, which pyarrow does not guess, nor does it guess unsigned."""
    if isinstance(value, int) and value >= 2**63:
        return pa.array([value], pa.uint64())
    try:
        return pa.array([value])
    except pa.ArrowInvalid:
        children = [pa.array([item]) for item in value]
        kinds = pa.array(range(len(value)), pa.int8())
        items = pa.UnionArray.from_dense(kinds, pa.array([0] * len(value), pa.int32()), children)
        return pa.ListArray.from_arrays(pa.array([0, len(value)], pa.int32()), items)


def make(vector: dict[str, Any]) -> Any:
    options = decoded(vector["options"])
    if vector["scorer"] == "sql":
        return scorers.sql(options["name"], options["expression"])
    inputs = {} if vector["inputs"] is None else {"inputs": vector["inputs"]}
    return make_builtin(vector["scorer"], options | inputs)


def same(found: Any, expected: Any) -> bool:
    if expected == "<any text>":
        return isinstance(found, str) and found != ""
    if isinstance(expected, dict):
        is_alike = isinstance(found, dict) and found.keys() == expected.keys()
        return is_alike and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=0, abs_tol=1e-12)
    return type(found) is type(expected) and found == expected


@pytest.mark.parametrize("vector", [pytest.param(v, id=v["id"]) for v in VECTORS if "optional" not in v])
def test_a_vector_gives_what_it_expects(vector: dict[str, Any]) -> None:
    run = {"EvaluationScorerResult": check_result}.get(vector["scorer"], check_scorer)
    error = vector["expect"].get("error")
    if error is None:
        run(vector)
        return
    with pytest.raises(ERRORS[error]):
        run(vector)


def check_result(vector: dict[str, Any]) -> None:
    result = scorers.EvaluationScorerResult(**decoded(vector["columns"]))
    expect = decoded(vector["expect"])
    assert result.score == expect["score"]
    assert math.copysign(1, result.score) == math.copysign(1, expect["score"])
    assert result.metadata_json == expect["metadata_json"]
    assert (result.metadata_json and json.loads(result.metadata_json)) == (result.metadata_json and expect["metadata"])
    assert (result.metadata is None) == (expect["metadata"] is None)


def check_scorer(vector: dict[str, Any]) -> None:
    scorer, expect = make(vector), decoded(vector["expect"])
    if "made" in expect:
        for name, value in expect["made"].items():
            assert getattr(scorer, name) == (tuple(value) if isinstance(value, list) else value)
        return
    if vector["stage"] == "make":
        return
    found = scorer.score(pa.table({name: column(value) for name, value in decoded(vector["columns"]).items()}))
    assert found.error.to_pylist() == [None]
    assert same(found.value[0].as_py(), float(expect["score"]))
    metadata = json.loads(found.metadata[0].as_py())
    assert same(metadata, expect["metadata"]), (metadata, expect["metadata"])
