"""Whatever a function raises is its row's error, with an owner, without secrets; the other rows go on."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from pipeline.functions import FunctionCaller, RetryPolicy, Secret, function
from pipeline.functions.failures import ERROR_CHARS


class TwoArgumentError(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class RateLimitError(Exception):
    status_code = 429


class ReplyError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status_code = status


def rows(*values: Any) -> pa.Table:
    return pa.table({"x": list(values)})


def raising(error: Callable[[], BaseException], **options: Any) -> FunctionCaller:
    def f(x: int) -> str:
        if x:
            return "fine"
        raise error()

    return FunctionCaller(function(**options)(f))


def recursing() -> BaseException:
    return recursing()


@pytest.mark.parametrize(
    "error, text, owner",
    [
        (lambda: ValueError("bad"), "ValueError: bad", "model"),
        (lambda: KeyError("k"), "KeyError: 'k'", "model"),
        (AssertionError, "AssertionError", "model"),
        (lambda: TwoArgumentError(3, "why"), "TwoArgumentError: (3, 'why')", "model"),
        (MuteError, "MuteError: (its text cannot be read: RuntimeError)", "model"),
        (lambda: SystemExit(2), "SystemExit: 2", "model"),
        (KeyboardInterrupt, "KeyboardInterrupt", "model"),
        (GeneratorExit, "GeneratorExit", "model"),
        (recursing, "RecursionError", "model"),
        (lambda: TimeoutError("slow"), "TimeoutError: slow", "network"),
        (lambda: ConnectionResetError("gone"), "ConnectionResetError: gone", "network"),
        (lambda: RateLimitError("calm down"), "RateLimitError: calm down", "network"),
        (lambda: ReplyError(429), "status 429", "network"),
        (lambda: ReplyError(500), "status 500", "model"),
    ],
)
@pytest.mark.parametrize("concurrency", [None, 2])
def test_an_exception_is_its_rows_error(error: Any, text: str, owner: str, concurrency: int | None) -> None:
    caller = raising(error, concurrency=concurrency)
    result = caller.call(rows(1, 0, 1))
    caller.close()
    assert result.output.to_pylist() == ["fine", None, "fine"]
    assert text in result.error[1].as_py()
    assert result.owner.to_pylist() == [None, owner, None]


@pytest.mark.parametrize("error", [lambda: SystemExit(2), KeyboardInterrupt, asyncio.CancelledError, MuteError])
def test_an_async_function_fails_row_by_row_too(error: Any) -> None:
    async def f(x: int) -> str:
        await asyncio.sleep(0)
        if x:
            return "fine"
        raise error()

    caller = FunctionCaller(function(f))
    assert caller.call(rows(1, 0, 1)).output.to_pylist() == ["fine", None, "fine"]
    assert caller.call(rows(1, 0)).owner.to_pylist() == [None, "model"]
    caller.close()


def test_an_exit_in_a_task_that_an_async_function_started_does_not_end_the_loop() -> None:
    async def quit_now() -> None:
        sys.exit(3)

    async def f(x: int) -> str:
        if not x:
            await asyncio.create_task(quit_now())
        return "fine"

    caller = FunctionCaller(function(f))
    result = caller.call(rows(1, 0, 1))
    assert result.output.to_pylist() == ["fine", None, "fine"]
    assert "SystemExit" in result.error[1].as_py()
    caller.close()


def test_a_real_ctrl_c_ends_the_call() -> None:
    def f(x: int) -> str:
        if x == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        return "fine"

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        FunctionCaller(function(f)).call(rows(0, 1, 2))
    assert signal.getsignal(signal.SIGINT) is before


def test_a_long_error_is_cut() -> None:
    error = raising(lambda: ValueError("x" * 10_000)).call(rows(0)).error[0].as_py()
    assert len(error) == ERROR_CHARS


def test_secrets_never_appear_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-12345")
    secret = Secret.from_env("KEY")
    for options in ({"secrets": [secret]}, {"env": {"OPENAI_API_KEY": secret}}):
        caller = raising(lambda: ValueError("x" * (ERROR_CHARS - 20) + "key sk-12345 was refused"), **options)
        error = caller.call(rows(0)).error[0].as_py()
        assert "sk-1" not in error
        assert "[secret]" in error or error.endswith("…")


def test_env_is_set_during_the_calls_only() -> None:
    def f(x: int) -> str:
        return os.environ["ASSAY_TEST_VALUE"]

    caller = FunctionCaller(function(env={"ASSAY_TEST_VALUE": "here"})(f))
    assert caller.call(rows(1)).output.to_pylist() == ["here"]
    assert "ASSAY_TEST_VALUE" not in os.environ


def test_a_secret_that_is_not_there_is_no_fault_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEY", raising=False)
    result = raising(ValueError, env={"A": Secret.from_env("KEY")}).call(rows(1))
    assert "KEY is not set" in result.error[0].as_py()
    assert result.owner.to_pylist() == ["harness"]


def test_a_call_that_takes_too_long_is_ended() -> None:
    def f(x: int) -> str:
        time.sleep(x)
        return "fine"

    started = time.monotonic()
    result = FunctionCaller(function(timeout_s=0.1)(f)).call(rows(0, 5, 0))
    assert time.monotonic() - started < 3
    assert result.output.to_pylist() == ["fine", None, "fine"]
    assert "no result within 0.1 s" in result.error[1].as_py()
    assert result.owner.to_pylist() == [None, "network", None]


def test_a_time_limit_holds_outside_of_the_main_thread_and_against_a_bare_except() -> None:
    def f(x: int) -> str:
        try:
            time.sleep(x)
        except Exception:
            return "swallowed"
        return "fine"

    found: list[Any] = []
    caller = FunctionCaller(function(timeout_s=0.1)(f))
    found.append(caller.call(rows(2)))
    worker = threading.Thread(target=lambda: found.append(caller.call(rows(2))))
    worker.start()
    worker.join()
    assert [result.owner.to_pylist() for result in found] == [["network"], ["network"]]


def test_an_async_call_that_takes_too_long_is_ended() -> None:
    async def f(x: int) -> str:
        await asyncio.sleep(x)
        return "fine"

    caller = FunctionCaller(function(timeout_s=0.1)(f))
    result = caller.call(rows(0, 5))
    caller.close()
    assert result.output.to_pylist() == ["fine", None]
    assert result.owner.to_pylist() == [None, "network"]


FAST = {"initial_wait_seconds": 0.001}


@pytest.mark.parametrize("retries, calls, answer", [(None, 1, None), (1, 2, None), (2, 3, "fine"), (5, 3, "fine")])
def test_a_failed_call_is_made_again(retries: int | None, calls: int, answer: str | None) -> None:
    seen: list[int] = []

    def f(x: int) -> str:
        seen.append(x)
        if len(seen) < 3:
            raise OSError("not yet")
        return "fine"

    policy = None if retries is None else RetryPolicy(max_retries=retries, **FAST)  # type: ignore[arg-type]
    result = FunctionCaller(function(retries=policy)(f)).call(rows(1))
    assert (len(seen), result.output.to_pylist()) == (calls, [answer])
    if answer is None:
        assert result.error[0].as_py() == "OSError: not yet"


def test_only_the_named_exceptions_are_worth_another_call() -> None:
    seen: list[int] = []

    def f(x: int) -> str:
        seen.append(x)
        raise ValueError("no use")

    policy = RetryPolicy(retry_on=(OSError,), **FAST)  # type: ignore[arg-type]
    result = FunctionCaller(function(retries=policy)(f)).call(rows(1))
    assert (len(seen), result.error.to_pylist()) == (1, ["ValueError: no use"])


def test_async_calls_are_made_again_and_time_outs_count() -> None:
    seen: list[int] = []

    async def f(x: int) -> str:
        seen.append(x)
        await asyncio.sleep(0 if len(seen) == 2 else 5)
        return "fine"

    policy = RetryPolicy(max_retries=1, **FAST)  # type: ignore[arg-type]
    caller = FunctionCaller(function(retries=policy, timeout_s=0.05)(f))
    assert caller.call(rows(1)).output.to_pylist() == ["fine"]
    caller.close()


@pytest.mark.parametrize("asked, share, expected", [(None, 1, 64), (10, 1, 10), (10, 4, 2), (2, 8, 1)])
def test_async_rows_in_flight_are_split_over_the_workers(asked: int | None, share: int, expected: int) -> None:
    flying = most = 0

    async def f(x: int) -> int:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.005)
        flying -= 1
        return x

    caller = FunctionCaller(function(concurrency=asked)(f), share=share)
    assert caller.call(rows(*range(100 if asked is None else 20))).output[-1].as_py() in (99, 19)
    caller.close()
    assert most == expected


def test_sync_rows_run_at_once_where_concurrency_is_asked_for() -> None:
    together = threading.Barrier(3, timeout=5)

    def f(x: int) -> int:
        together.wait()
        return x

    caller = FunctionCaller(function(concurrency=3)(f))
    assert caller.call(rows(1, 2, 3)).output.to_pylist() == [1, 2, 3]
    caller.close()


def test_an_async_client_lives_on_between_parts() -> None:
    loops: set[Any] = set()

    async def f(x: int) -> int:
        loops.add(asyncio.get_running_loop())
        return x

    caller = FunctionCaller(function(f))
    caller.call(rows(1))
    caller.call(rows(2))
    caller.close()
    assert len(loops) == 1


def test_async_functions_can_be_called_where_a_loop_is_running_as_in_a_notebook() -> None:
    async def f(x: int) -> int:
        return x

    async def notebook() -> list[Any]:
        caller = FunctionCaller(function(f))
        try:
            return caller.call(rows(1)).output.to_pylist()
        finally:
            caller.close()

    assert asyncio.run(notebook()) == [1]
