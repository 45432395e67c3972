"""Batch functions: several rows a call, as lists or Arrow data, in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipeline.errors import FunctionSignatureError
from pipeline.functions import FunctionCaller, FunctionScorer, check_columns, function, require_task

ROWS = pa.table({"text": ["a", "bb", "ccc"], "n": [1, 2, 3]})


def call(func: Callable[..., Any], rows: pa.Table = ROWS, *, batch: Any = True) -> Any:
    return FunctionCaller(function(batch=batch)(func)).call(rows)


def test_a_table_in_and_a_table_out() -> None:
    def shout(rows: pa.Table) -> Annotated[pa.Table, pa.schema([("output", pa.string())])]:
        return pa.table({"output": pc.utf8_upper(rows["text"])})

    assert call(shout).output.to_pylist() == ["A", "BB", "CCC"]
    assert check_columns(function(batch=True)(shout), ROWS.schema) == ("text", "n")


def test_several_columns_out_are_a_struct() -> None:
    def both(rows: pa.Table) -> Annotated[pa.Table, pa.schema([("a", pa.string()), ("b", pa.int64())])]:
        return pa.table({"a": rows["text"], "b": rows["n"]})

    assert call(both).output.to_pylist()[0] == {"a": "a", "b": 1}


def test_arrays_bind_by_name() -> None:
    def double(n: pa.Array) -> Annotated[pa.Array, pa.int64()]:
        return pc.multiply(n, 2)

    handle = function(batch=True)(double)
    assert call(double).output.to_pylist() == [2, 4, 6]
    assert check_columns(handle, ROWS.schema) == ("n",)
    assert handle.output_type == pa.int64()


def test_lists_are_coerced_and_checked_item_by_item() -> None:
    def lengths(text: list[str], offset: int = 1) -> list[int]:
        return [len(item) for item in text]

    with pytest.raises(FunctionSignatureError, match=r"takes list\[int\]"):
        call(lengths)

    def measure(text: list[str]) -> list[int]:
        return [len(item) if item != "bb" else "two" for item in text]  # type: ignore[misc]

    result = call(measure)
    assert result.output.to_pylist() == [1, None, 3]
    assert result.error[1].as_py() == "returned str, declared int"


def test_a_row_that_cannot_be_bound_stays_out_of_its_batch() -> None:
    def measure(text: list[str]) -> list[int]:
        return [len(item) for item in text]

    result = call(measure, pa.table({"text": ["a", None, "ccc"]}))
    assert result.output.to_pylist() == [1, None, 3]
    assert result.owner.to_pylist() == [None, "data", None]


def test_a_batch_has_at_most_so_many_rows() -> None:
    sizes: list[int] = []

    def measure(n: list[int]) -> list[int]:
        sizes.append(len(n))
        return n

    rows = pa.table({"n": list(range(25))})
    assert call(measure, rows, batch=10).output.to_pylist() == list(range(25))
    assert sizes == [10, 10, 5]


@pytest.mark.parametrize("batch", [2, 10])
def test_a_wrong_number_of_rows_fails_the_whole_batch(batch: int) -> None:
    def short(text: list[str]) -> list[str]:
        return text[:1]

    def arrow(text: pa.Array) -> Annotated[pa.Array, pa.string()]:
        return text[:1]

    for func in (short, arrow):
        result = call(func, batch=batch)
        assert result.error[0].as_py() == f"returned 1 rows for a batch of {min(batch, 3)}"
        assert result.owner.to_pylist()[:2] == ["model", "model"]


def test_an_exception_costs_its_batch_only() -> None:
    def picky(n: list[int]) -> list[int]:
        if 3 in n:
            raise ValueError("three")
        return n

    result = call(picky, batch=2)
    assert result.output.to_pylist() == [1, 2, None]
    assert result.error.to_pylist() == [None, None, "ValueError: three"]


def test_an_arrow_result_of_another_type_is_an_error() -> None:
    def wrong(text: pa.Array) -> Annotated[pa.Array, pa.int64()]:
        return text

    result = call(wrong)
    assert "not int64" in result.error[0].as_py()


def test_async_batches_run_too() -> None:
    async def measure(text: list[str]) -> list[int]:
        return [len(item) for item in text]

    caller = FunctionCaller(function(batch=2)(measure))
    assert caller.call(ROWS).output.to_pylist() == [1, 2, 3]
    caller.close()


def test_a_task_has_to_say_the_type_of_its_arrow_result() -> None:
    def unsaid(rows: pa.Table) -> pa.Table:
        return rows

    with pytest.raises(FunctionSignatureError, match="Annotated"):
        require_task(function(batch=True)(unsaid))


def test_a_batch_scorer_returns_an_array_of_numbers() -> None:
    def score(rows: pa.Table) -> pa.Array:
        return pc.divide(pc.cast(rows["n"], pa.float64()), 4).combine_chunks()

    scorer = FunctionScorer(FunctionCaller(function(batch=2)(score)))
    assert scorer.score(ROWS).value.to_pylist() == [0.25, 0.5, 0.75]


def test_arrow_parameters_need_the_batch_option() -> None:
    def f(rows: pa.Table) -> float:
        return 1.0

    with pytest.raises(FunctionSignatureError, match="batch=True"):
        function(f)

    def g(rows: pa.Table, text: pa.Array) -> list[float]:
        return []

    with pytest.raises(FunctionSignatureError, match="every column"):
        function(batch=True)(g)
