"""Calls of one function from several threads, looked at while they go on, and values that cannot be stored."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from pipeline.functions import FunctionCaller, FunctionScorer, function, value_size
from pipeline.functions.environment import environment
from scorers import EvaluationScorerResult

WAIT_S = 20  # for what happens at once


def rows(*values: Any) -> pa.Table:
    return pa.table({"x": list(values)})


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    return thread, found


def test_rows_of_two_tables_share_the_slots_and_the_first_table_comes_first() -> None:
    flying = most = 0
    begun: list[int] = []
    first_waits, go = threading.Event(), threading.Event()

    async def f(x: int) -> int:
        nonlocal flying, most
        begun.append(x)
        flying += 1
        most = max(most, flying)
        if len(begun) == 3:
            first_waits.set()
        while not go.is_set():
            await asyncio.sleep(0.001)
        flying -= 1
        return x

    caller = FunctionCaller(function(concurrency=3)(f))
    one, found_one = in_thread(lambda: caller.call(rows(*range(10))).output.to_pylist())
    assert first_waits.wait(WAIT_S)
    two, found_two = in_thread(lambda: caller.call(rows(*range(100, 110))).output.to_pylist())
    go.set()
    one.join(WAIT_S)
    two.join(WAIT_S)
    caller.close()
    assert (found_one, found_two) == ([list(range(10))], [list(range(100, 110))])
    assert most == 3
    assert begun == [*range(10), *range(100, 110)]


def test_free_slots_are_filled_by_the_next_table_while_a_row_of_the_first_is_slow() -> None:
    second_done = threading.Event()

    async def f(x: int) -> str:
        while x == 0 and not second_done.is_set():
            await asyncio.sleep(0.001)
        return "fine"

    caller = FunctionCaller(function(concurrency=2)(f))
    slow, found = in_thread(lambda: caller.call(rows(0, 1)).output.to_pylist())
    assert caller.call(rows(2, 3, 4)).output.to_pylist() == ["fine"] * 3
    second_done.set()
    slow.join(WAIT_S)
    caller.close()
    assert found == [["fine", "fine"]]


def test_a_sync_function_is_never_called_by_two_threads_at_once_unless_it_asks() -> None:
    inside = threading.Lock()

    def f(x: int) -> bool:
        mine = inside.acquire(blocking=False)
        for _ in range(1000):
            pass
        if mine:
            inside.release()
        return mine

    caller = FunctionCaller(function(f))
    threads = [in_thread(lambda: caller.call(rows(*range(2000))).output.to_pylist()) for _ in range(3)]
    for thread, found in threads:
        thread.join(WAIT_S)
        assert found == [[True] * 2000]


def test_neither_a_context_variable_nor_a_cancellation_of_one_row_reaches_another() -> None:
    seen: contextvars.ContextVar[int] = contextvars.ContextVar("seen", default=-1)

    async def f(x: int) -> int:
        before = seen.get()
        seen.set(x)
        if x == 1:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        if x == 2:
            await asyncio.sleep(0)
        return before

    caller = FunctionCaller(function(concurrency=1)(f))
    assert caller.call(rows(0, 1, 2, 3)).output.to_pylist()[2:] == [-1, -1]
    caller.close()


@pytest.mark.parametrize("options", [{}, {"concurrency": 2}, {"batch": 2}])
def test_finished_rows_are_seen_and_counted_while_others_go_on(options: dict[str, Any]) -> None:
    reached, go = threading.Event(), threading.Event()

    def wait(x: int) -> str:
        if x == 4:
            reached.set()
            assert go.wait(WAIT_S)
        return f"<{x}>"

    def one(x: int) -> str:
        return wait(x)

    def batch(x: list[int]) -> list[str]:
        return [wait(item) for item in x]

    caller = FunctionCaller(function(**options)(batch if "batch" in options else one))
    calls = caller.begin(rows(0, 1, 2, 3, 4, 5))
    thread, _ = in_thread(calls.run)
    assert reached.wait(WAIT_S)
    while caller.rows_finished < 4:
        pass
    early = calls.news()
    assert sorted(zip(early.rows, caller.columns_of(early).output.to_pylist(), strict=True))[:4] == [
        (row, f"<{row}>") for row in range(4)
    ]
    go.set()
    thread.join(WAIT_S)
    late = calls.news()
    assert sorted([*early.rows, *late.rows]) == list(range(6))
    assert caller.rows_finished == 6
    assert caller.columns_of(calls.outcomes()).output.to_pylist() == [f"<{row}>" for row in range(6)]
    caller.close()


def test_batches_are_cut_as_ever_where_some_rows_are_left_out() -> None:
    seen: list[list[int]] = []

    def f(x: list[int]) -> list[int]:
        seen.append(list(x))
        return x

    caller = FunctionCaller(function(batch=3)(f))
    calls = caller.begin(rows(0, 1, None, 3, 4, 5, 6, 7), [1, 2, 6])
    calls.run()
    outcomes = calls.outcomes()
    assert seen == [[1], [6]]
    assert (outcomes.rows, outcomes.values) == ([1, 2, 6], [1, None, 6])
    assert outcomes.failures[1].owner == "data"


def test_a_real_ctrl_c_ends_async_calls_and_the_next_ones_are_made() -> None:
    async def f(x: int) -> int:
        if x == 1:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # as the terminal does
        if x < 3:
            await asyncio.sleep(WAIT_S)
        return x

    caller = FunctionCaller(function(concurrency=2)(f))
    with pytest.raises(KeyboardInterrupt):
        caller.call(rows(0, 1, 2, 2, 2))
    assert caller.call(rows(3, 4, 5)).output.to_pylist() == [3, 4, 5]
    caller.close()


def test_wanted_rows_alone_are_called() -> None:
    def f(x: int) -> int:
        return x * 10

    caller = FunctionCaller(function(f))
    calls = caller.begin(rows(0, None, 2, 3, None), [1, 3])
    calls.run()
    outcomes = calls.outcomes()
    assert (outcomes.values, list(outcomes.failures)) == ([None, 30], [0])
    assert calls.news().rows == [3]


def test_a_variable_is_set_until_the_last_that_asked_for_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_VALUE", "before")
    first, second = environment({"ASSAY_TEST_VALUE": "here"}), environment({"ASSAY_TEST_VALUE": "here"})
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert os.environ["ASSAY_TEST_VALUE"] == "here"
    second.__exit__(None, None, None)
    assert os.environ["ASSAY_TEST_VALUE"] == "before"


class Odd:
    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __float__(self) -> float:
        raise self._error


@dataclass
class Answer:
    text: str

    @property
    def length(self) -> int:
        return len(self.text)


class Exiting(Answer):
    @property
    def text(self) -> str:  # type: ignore[override]
        sys.exit(3)

    @text.setter
    def text(self, value: str) -> None: ...


def test_a_result_that_cannot_be_stored_is_its_rows_failure() -> None:
    def f(x: int) -> Answer:
        return [Answer("fine"), threading.Lock(), Exiting("gone"), Answer("\ud800"), lambda: None][x]  # type: ignore[return-value]

    result = FunctionCaller(function(f)).call(rows(0, 1, 2, 3, 4))
    assert result.output.to_pylist() == [{"text": "fine"}, None, None, None, None]
    assert result.owner.to_pylist() == [None, *["model"] * 4]
    assert "declared" in result.error[1].as_py()


@pytest.mark.parametrize("error", [RuntimeError("no number"), SystemExit(3), RecursionError(), GeneratorExit()])
def test_a_score_that_cannot_be_read_is_its_rows_failure(error: BaseException) -> None:
    def f(x: int) -> float:
        return Odd(error) if x else 0.5  # type: ignore[return-value]

    columns, owner = FunctionScorer(FunctionCaller(function(f))).score_owned(rows(0, 1, 0))
    assert columns.value.to_pylist() == [0.5, None, 0.5]
    assert type(error).__name__ in columns.error[1].as_py()
    assert owner.to_pylist() == [None, "judge", None]


@pytest.mark.parametrize("options", [{}, {"concurrency": 2}])
def test_memory_that_a_function_does_not_get_is_its_rows_failure(options: dict[str, Any]) -> None:
    def f(x: int) -> int:
        return len(bytearray(x))

    caller = FunctionCaller(function(**options)(f))
    result = caller.call(rows(1, 1 << 60, 2))
    caller.close()
    assert result.output.to_pylist() == [1, None, 2]
    assert "MemoryError" in result.error[1].as_py()


def texts(x: int) -> str:
    return "ä" * x


def raw(x: int) -> bytes:
    return b"a" * 2 * x


def listed(x: int) -> list[str]:
    return ["a" * x, "b" * x]


def batched(x: pa.Array) -> pa.Array:
    return pa.array(["a" * 2 * size.as_py() for size in x])


@pytest.mark.parametrize("func", [texts, raw, listed])
def test_a_value_beyond_the_limit_is_its_rows_failure(func: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_size, "MAX_VALUE_BYTES", 1000)
    result = FunctionCaller(function(func)).call(rows(3, 900, 400))
    assert result.owner.to_pylist() == [None, "model", None]
    assert "1,8" in result.error[1].as_py()
    assert len(result.output[2].as_py()) in (400, 800, 2)


def test_a_batch_with_a_value_beyond_the_limit_loses_that_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from typing import Annotated

    monkeypatch.setattr(value_size, "MAX_VALUE_BYTES", 1000)
    batched.__annotations__["return"] = Annotated[pa.Array, pa.string()]
    batched.__annotations__["x"] = pa.Array
    result = FunctionCaller(function(batch=True)(batched)).call(rows(3, 900, 400))
    assert result.owner.to_pylist() == [None, "model", None]
    assert [item and len(item) for item in result.output.to_pylist()] == [6, None, 800]


def test_a_score_with_too_much_to_record_is_the_judges_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_size, "MAX_VALUE_BYTES", 1000)

    def f(x: int) -> list[EvaluationScorerResult]:
        return [EvaluationScorerResult(0.5, {"note": "a" * x})]

    columns, owner = FunctionScorer(FunctionCaller(function(f))).score_owned(rows(3, 2000))
    assert columns.value.to_pylist() == [0.5, None]
    assert owner.to_pylist() == [None, "judge"]
