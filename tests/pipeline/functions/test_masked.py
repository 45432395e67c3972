"""Secrets never appear in what functions return, however it is nested."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from pipeline.functions import FunctionCaller, FunctionScorer, Secret, function
from pipeline.functions.masked import masked
from scorers.result import EvaluationScorerResult

KEY = 'sk-1"é\\2'
ROWS = pa.table({"output": ["a", "b"]})
TEXT = pa.large_string()
DECLARED = [{"secrets": [Secret.from_env("KEY")]}, {"env": {"OPENAI_API_KEY": Secret.from_env("KEY")}}]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", KEY)


@pytest.mark.parametrize(
    "kind, value, expected",
    [
        (pa.string(), "a s b", "a [secret] b"),
        (TEXT, "s", "[secret]"),
        (pa.list_(TEXT), ["s", None, "x"], ["[secret]", None, "x"]),
        (pa.large_list(pa.string()), [], []),
        (pa.list_(TEXT, 2), ["s", "x"], ["[secret]", "x"]),
        (pa.struct({"a": TEXT, "n": pa.int64()}), {"a": "ss", "n": 1}, {"a": "[secret][secret]", "n": 1}),
        (pa.list_(pa.struct({"a": pa.list_(TEXT)})), [{"a": ["s"]}, None], [{"a": ["[secret]"]}, None]),
        (pa.map_(TEXT, TEXT), [("s", "x"), ("y", "s")], [("[secret]", "x"), ("y", "[secret]")]),
        (pa.dictionary(pa.int32(), pa.string()), "s", "[secret]"),
        (pa.int64(), 5, 5),
        (pa.struct([]), {}, {}),
    ],
)
def test_text_is_masked_wherever_it_is(kind: pa.DataType, value: Any, expected: Any) -> None:
    whole = pa.array([value, None, value, value], kind)
    for array, wanted in [(whole, [expected, None, expected, expected]), (whole[1:3], [None, expected])]:
        found = masked(array, ["s"])
        found.validate(full=True)
        assert (found.type, found.to_pylist()) == (kind, wanted)


@pytest.mark.parametrize("declared", DECLARED)
def test_a_secret_in_a_tasks_output_is_masked(declared: dict[str, Any]) -> None:
    def leaks(output: str) -> str:
        return f"key {KEY}, as JSON {json.dumps(KEY)}"

    called = FunctionCaller(function(**declared)(leaks)).call(ROWS)
    assert called.output.to_pylist() == ['key [secret], as JSON "[secret]"'] * 2

    def leaks_nested(output: str) -> list[dict[str, str]]:
        return [{output: KEY}]

    nested = FunctionCaller(function(**declared)(leaks_nested)).call(ROWS)
    assert nested.output.to_pylist() == [[[("a", "[secret]")]], [[("b", "[secret]")]]]


@pytest.mark.parametrize("declared", DECLARED)
def test_a_secret_in_a_batch_of_arrow_is_masked(declared: dict[str, Any]) -> None:
    def leaks(output: pa.Array) -> pa.Array:
        return pa.array([KEY] * len(output))

    assert FunctionCaller(function(batch=2, **declared)(leaks)).call(ROWS).output.to_pylist() == ["[secret]"] * 2


@pytest.mark.parametrize("declared", DECLARED)
def test_a_secret_in_a_scorers_metadata_is_masked(declared: dict[str, Any]) -> None:
    def leaks(output: str) -> EvaluationScorerResult:
        return EvaluationScorerResult(1.0, {"key": KEY, "at": {KEY: [KEY]}})

    columns, _ = FunctionScorer(FunctionCaller(function(**declared)(leaks))).score_owned(ROWS)
    assert columns.metadata.to_pylist() == ['{"at":{"[secret]":["[secret]"]},"key":"[secret]"}'] * 2

    def leaks_in_lists(output: str) -> list[EvaluationScorerResult]:
        return [EvaluationScorerResult(1.0, {"key": KEY})]

    columns, _ = FunctionScorer(FunctionCaller(function(**declared)(leaks_in_lists))).score_owned(ROWS)
    assert columns.values is not None
    assert columns.values.to_pylist() == [[{"score": 1.0, "metadata": '{"key":"[secret]"}'}]] * 2


def test_metadata_stays_json_where_a_secret_looks_like_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "1234")

    def leaks(output: str) -> EvaluationScorerResult:
        return EvaluationScorerResult(1.0, {"pin": 1234, "text": "1234"})

    columns, _ = FunctionScorer(FunctionCaller(function(**DECLARED[0])(leaks))).score_owned(ROWS)
    assert json.loads(columns.metadata[0].as_py()) == {"pin": "[secret]", "text": "[secret]"}


def test_without_secrets_outputs_are_not_touched() -> None:
    def echo(output: str) -> str:
        return KEY

    assert FunctionCaller(function(echo)).call(ROWS).output.to_pylist() == [KEY] * 2
