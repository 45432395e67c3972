"""Rate limits in a worker: calls keep to the pace of a desk, and to what the endpoint says."""

from __future__ import annotations

import asyncio
import threading
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import aiohttp
import pyarrow as pa
import pytest

import pipeline
from pipeline.errors import EngineError
from pipeline.functions import FunctionCaller, RateLimitPolicy, RetryPolicy, function, invoke
from pipeline.functions.failures import retry_after_s
from pipeline.functions.rate import RateLimiter
from pipeline.records.limits import LimitRule, PermitAnswer, PermitRequest
from pipeline.records.permits import BURST_S, PermitDesk


def rows(*values: Any) -> pa.Table:
    return pa.table({"x": list(values)})


class Desk:
    """A desk in this process that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[PermitRequest] = []
        self.permits = 0
        self._desk = PermitDesk(time.monotonic)

    def ask(self, request: PermitRequest) -> PermitAnswer:
        self.asked.append(request)
        answer = self._desk.ask(request)
        self.permits += answer.permits
        return answer


class AwayDesk(Desk):
    """Cannot be reached, while it is away."""

    is_away = True

    def ask(self, request: PermitRequest) -> PermitAnswer:
        if self.is_away:
            self.asked.append(request)
            raise EngineError("the desk is away")
        return super().ask(request)


def calling(url: str, *, is_async: bool, **options: Any) -> FunctionCaller:
    """A function that calls an endpoint, and raises what the client library raises."""

    def sync(x: int) -> int:
        with urllib.request.urlopen(f"{url}{x}", timeout=30):
            return x

    async def coroutine(x: int) -> int:
        async with aiohttp.ClientSession(raise_for_status=True) as session, session.get(f"{url}{x}"):
            return x

    if is_async:
        return FunctionCaller(function(**options)(coroutine))
    return FunctionCaller(function(concurrency=16, **options)(sync))


@pytest.mark.parametrize("is_async", [False, True])
def test_an_endpoint_sees_no_more_than_the_rate_and_the_stated_burst(limited_server: Any, is_async: bool) -> None:
    with limited_server(60, burst=12) as endpoint:
        caller = calling(endpoint.url, is_async=is_async, rate_limit=60)
        began = time.monotonic()
        result = caller.call(rows(*range(75)))
        caller.close()
    assert result.output.to_pylist() == list(range(75))
    assert endpoint.ahead_s(began, 60) <= 0.001
    assert endpoint.refused == caller.timings.refusals


@pytest.mark.parametrize("is_async", [False, True])
def test_all_rows_get_through_where_the_endpoint_allows_less_than_was_stated(
    limited_server: Any, is_async: bool
) -> None:
    with limited_server(40, burst=4, retry_after="0.5") as endpoint:
        caller = calling(endpoint.url, is_async=is_async, rate_limit=120)
        result = caller.call(rows(*range(40)))
        caller.close()
    assert result.output.to_pylist() == list(range(40))
    timings = caller.timings
    assert 0 < timings.refusals == timings.retries == endpoint.refused
    assert timings.calls == len(endpoint.came) == 40 + endpoint.refused


def test_a_refusal_holds_back_the_calls_of_other_functions_with_the_key(limited_server: Any) -> None:
    """Permits that one of them has in hand included."""
    desk = Desk()
    times: list[float] = []

    def refused(x: int) -> int:
        if not times:
            times.append(time.monotonic())
            error: Any = ConnectionError("calm down")
            error.status_code, error.retry_after = 429, 0.7
            raise error
        return x

    def other(x: int) -> int:
        times.append(time.monotonic())
        return x

    limit = RateLimitPolicy(200, key="api")
    first, second = (FunctionCaller(function(rate_limit=limit)(f), limits=desk) for f in (refused, other))
    second.call(rows(*range(30)))
    times.clear()
    assert first.call(rows(1)).output.to_pylist() == [1]
    second.call(rows(*range(5)))
    assert min(times[1:]) - times[0] >= 0.69
    assert [refusal.pause_s for request in desk.asked for refusal in request.refusals] == [0.7]


def test_a_pause_voids_permits_that_are_in_hand_and_those_that_callers_wait_for() -> None:
    limiter = RateLimiter(LimitRule("key", calls_per_s=100), PermitDesk(time.monotonic))
    passed: list[float] = []

    def call() -> None:
        limiter.wait()
        passed.append(time.monotonic())

    for _ in range(30):
        call()
    waiting = [threading.Thread(target=call) for _ in range(10)]
    paused_at = time.monotonic()
    limiter.refuse(0.0, 0.6)
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join(30)
    assert min(passed[30:]) >= paused_at + 0.6


def test_a_pause_holds_callers_that_sleep_until_their_permit_is_due() -> None:
    class FarDesk:
        """Gives one permit for the next second, then what comes after the pause."""

        def __init__(self) -> None:
            self.has_given = threading.Event()

        def ask(self, request: PermitRequest) -> PermitAnswer:
            first_in_s = request.pause_s if self.has_given.is_set() else 1.0
            self.has_given.set()
            return PermitAnswer(min(request.wanted, 1), first_in_s, 0.0, 0.1, request.pause_s)

    def call(limiter: RateLimiter, is_async: bool) -> None:
        _ = asyncio.run(limiter.wait_async()) if is_async else limiter.wait()
        passed[is_async] = time.monotonic()

    passed: dict[bool, float] = {}
    desks = [FarDesk(), FarDesk()]
    limiters = [RateLimiter(LimitRule("key", calls_per_s=1), desk) for desk in desks]
    waiting = [threading.Thread(target=call, args=pair) for pair in zip(limiters, (False, True), strict=True)]
    for thread, desk in zip(waiting, desks, strict=True):
        thread.start()
        assert desk.has_given.wait(30)
    paused_at = time.monotonic()
    for limiter in limiters:
        limiter.refuse(0.0, 1.3)
    for thread in waiting:
        thread.join(30)
    assert min(passed.values()) >= paused_at + 1.3
    assert len(passed) == 2


def test_functions_with_one_key_share_the_limit_and_others_do_not() -> None:
    def f(x: int) -> int:
        return x

    def g(x: int) -> int:
        return x + 0

    shared = RateLimitPolicy(20, key="shared by two")
    callers = [FunctionCaller(function(rate_limit=shared)(body)) for body in (f, g)]
    began = time.monotonic()
    for _ in range(4):
        for caller in callers:
            caller.call(rows(1, 2))
    assert time.monotonic() - began >= 15 / 20 - BURST_S
    desk = Desk()
    for body in (f, g):
        FunctionCaller(function(rate_limit=20)(body), limits=desk).call(rows(1))
    assert len({request.rule.key for request in desk.asked}) == 2


def test_without_a_desk_of_the_cluster_each_worker_keeps_to_its_share() -> None:
    def f(x: int) -> int:
        return x

    began = time.monotonic()
    FunctionCaller(function(rate_limit=RateLimitPolicy(10, key="a share"))(f), share=2).call(rows(1, 2, 3))
    assert time.monotonic() - began >= 2 / 5


@pytest.mark.parametrize("is_async", [False, True])
def test_one_message_asks_for_many_rows(is_async: bool) -> None:
    desk = Desk()

    def f(x: int) -> int:
        return x

    async def g(x: int) -> int:
        return x

    caller = FunctionCaller(function(rate_limit=600)(g if is_async else f), limits=desk)
    caller.call(rows(*range(300)))
    caller.close()
    assert len(desk.asked) < 200


def test_an_event_loop_goes_on_while_rows_wait_for_a_slow_desk() -> None:
    ticks = 0

    class SlowDesk(Desk):
        def ask(self, request: PermitRequest) -> PermitAnswer:
            time.sleep(0.3)
            return super().ask(request)

    async def f(x: int) -> int:
        return x

    async def count() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def run() -> None:
        limiter = RateLimiter(LimitRule("key", calls_per_s=100), SlowDesk())
        counting = asyncio.create_task(count())
        await asyncio.gather(*(limiter.wait_async() for _ in range(5)))
        counting.cancel()

    asyncio.run(run())
    assert ticks >= 5


def test_a_worker_goes_on_with_its_share_while_the_desk_is_away_and_comes_back_to_it() -> None:
    desk = AwayDesk()
    limiter = RateLimiter(LimitRule("key", calls_per_s=40), desk, share=4)
    began = time.monotonic()
    for _ in range(5):
        limiter.wait()
    assert time.monotonic() - began >= 5 / 10, "the first comes after its interval: other workers do the same"
    assert (len(desk.asked) > 0, desk.permits) == (True, 0)
    desk.is_away = False
    for _ in range(30):
        limiter.wait()
    assert desk.permits >= 20


def test_callers_hear_of_a_fault_of_the_limiter_and_do_not_wait_for_ever() -> None:
    class BrokenDesk:
        def ask(self, request: PermitRequest) -> Any:
            return "nonsense"

    limiter = RateLimiter(LimitRule("key", calls_per_s=40), BrokenDesk())
    with pytest.raises(AttributeError):
        limiter.wait()
    with pytest.raises(AttributeError):
        asyncio.run(limiter.wait_async())


def test_a_cancelled_row_takes_no_permit() -> None:
    async def run() -> float:
        limiter = RateLimiter(LimitRule("key", calls_per_s=4), PermitDesk(time.monotonic))
        await limiter.wait_async()
        given_up = [asyncio.create_task(limiter.wait_async()) for _ in range(40)]
        await asyncio.sleep(0.01)
        for task in given_up:
            task.cancel()
        return await asyncio.wait_for(limiter.wait_async(), 5)

    assert asyncio.run(run()) < 5


RELIABLE = RateLimitPolicy(units=10_000, units_per_call=100)


@pytest.mark.parametrize("how", ["in turn", "in threads", "with a time limit", "async"])
def test_a_function_corrects_the_estimate_of_its_units(how: str) -> None:
    def f(x: int) -> int:
        pipeline.report_units(1)
        time.sleep(0.02)
        if x:
            pipeline.report_units(x)
        return x

    async def g(x: int) -> int:
        await asyncio.to_thread(pipeline.report_units, 1)
        await asyncio.sleep(0.02)
        if x:
            pipeline.report_units(x)
        return x

    options: dict[str, Any] = {"in threads": {"concurrency": 4}, "with a time limit": {"timeout_s": 30}}.get(how, {})
    desk = Desk()
    caller = FunctionCaller(function(rate_limit=RELIABLE, **options)(g if how == "async" else f), limits=desk)
    caller.call(rows(40, 250, 0))
    caller.call(rows(100))
    caller.call(rows(100))
    caller.close()
    assert sum(request.units_owed for request in desk.asked) == pytest.approx((40 + 250 + 1) - 300)


def test_units_are_what_is_limited() -> None:
    def f(x: int) -> int:
        pipeline.report_units(x)
        return x

    limit = RateLimitPolicy(units=1000, units_per_call=10, key="units")
    caller = FunctionCaller(function(rate_limit=limit)(f))
    began = time.monotonic()
    caller.call(rows(400, 10))
    caller.call(rows(10))
    assert time.monotonic() - began >= 0.4 - BURST_S
    assert caller.timings.waited_s >= 0.4 - BURST_S


def test_units_may_be_reported_anywhere() -> None:
    pipeline.report_units(5)

    def f(x: int) -> int:
        pipeline.report_units(x)
        return x

    assert FunctionCaller(function(f)).call(rows(3)).output.to_pylist() == [3]


@pytest.mark.parametrize("units, error", [(-1, ValueError), (float("nan"), ValueError), ("5", TypeError)])
def test_what_is_no_number_of_units_is_refused(units: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        pipeline.report_units(units)


class Reply:
    def __init__(self, **headers: Any) -> None:
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class RefusedError(Exception):
    """What a client library raises."""

    status_code = 429

    def __init__(self, **members: Any) -> None:
        super().__init__("too many")
        self.__dict__.update(members)


NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "members, seconds",
    [
        ({"response": Reply(Retry_After="7")}, 7),
        ({"response": Reply(retry_after="1.5")}, 1.5),
        ({"headers": {"RETRY-AFTER": b"2"}}, 2),
        ({"headers": {"Retry-After": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}}, 90),
        ({"headers": {"Retry-After": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}}, 0),
        ({"retry_after": 3}, 3),
        ({"retry_after": timedelta(minutes=1)}, 60),
        ({"retry_after": None, "headers": {"Retry-After": "4"}}, 4),
        ({"headers": {"Retry-After": "-5"}}, 0),
        ({"headers": {"Retry-After": "soon"}}, None),
        ({"headers": {"Retry-After": "nan"}}, None),
        ({"headers": 5}, None),
        ({"headers": {}}, None),
        ({}, None),
    ],
)
def test_how_long_an_endpoint_asks_to_wait(members: dict[str, Any], seconds: float | None) -> None:
    assert retry_after_s(RefusedError(**members), NOW.timestamp()) == seconds


def failing(error: BaseException, n_times: int, seen: list[float], **options: Any) -> FunctionCaller:
    def f(x: int) -> int:
        seen.append(time.monotonic())
        if len(seen) <= n_times:
            raise error
        return x

    return FunctionCaller(function(**options)(f))


def test_a_refused_call_is_made_again_where_only_a_rate_limit_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invoke, "REFUSED", RetryPolicy(max_retries=2, initial_wait_seconds=0.001))
    for n_times, answer, calls in [(2, 1, 3), (9, None, 3)]:
        seen: list[float] = []
        result = failing(RefusedError(), n_times, seen, rate_limit=1000).call(rows(1))
        assert (result.output[0].as_py(), len(seen)) == (answer, calls)
        assert result.owner[0].as_py() == (None if answer else "network")


def test_other_errors_are_not_tried_again_for_a_rate_limit() -> None:
    seen: list[float] = []
    result = failing(ConnectionError("gone"), 1, seen, rate_limit=1000).call(rows(1))
    assert (result.owner[0].as_py(), len(seen)) == ("network", 1)


def test_a_retry_policy_of_none_is_kept_to() -> None:
    seen: list[float] = []
    failing(RefusedError(), 1, seen, rate_limit=1000, retries=0).call(rows(1))
    assert len(seen) == 1


@pytest.mark.parametrize("options", [{"retries": 1}, {"rate_limit": 1000}])
def test_the_next_call_waits_as_long_as_the_endpoint_asked(options: dict[str, Any]) -> None:
    seen: list[float] = []
    if "retries" in options:
        options = {"retries": RetryPolicy(max_retries=1, initial_wait_seconds=0.001)}
    result = failing(RefusedError(headers={"Retry-After": "1.1"}), 1, seen, **options).call(rows(1))
    assert result.output.to_pylist() == [1]
    assert seen[1] - seen[0] >= 1.1


@pytest.mark.parametrize("options", [{"retries": 3}, {"rate_limit": 1000}])
def test_an_endpoint_that_asks_to_wait_for_hours_fails_the_row_and_holds_nobody(options: dict[str, Any]) -> None:
    seen: list[float] = []
    caller = failing(RefusedError(headers={"Retry-After": "7200"}), 1, seen, **options)
    result = caller.call(rows(1, 2, 3))
    assert result.output.to_pylist() == [None, 2, 3]
    assert result.owner.to_pylist() == ["network", None, None]


def test_time_in_the_queue_is_counted_apart_from_time_in_calls() -> None:
    def f(x: int) -> int:
        time.sleep(0.01)
        return x

    caller = FunctionCaller(function(rate_limit=20)(f))
    caller.call(rows(*range(11)))
    timings = caller.timings
    assert (timings.calls, timings.retries, timings.refusals) == (11, 0, 0)
    assert timings.waited_s >= 10 / 20 - 0.11 - BURST_S
    assert timings.called_s >= 0.11


@pytest.mark.parametrize("options", [{}, {"timeout_s": 30}, {"batch": 2}])
def test_calls_without_a_limit_are_counted_too(options: dict[str, Any]) -> None:
    def f(x: int) -> int:
        time.sleep(0.01)
        return x

    def g(x: list[int]) -> list[int]:
        time.sleep(0.01)
        return x

    caller = FunctionCaller(function(**options)(g if "batch" in options else f))
    caller.call(rows(1, 2, 3, 4))
    n_calls = 2 if "batch" in options else 4
    assert caller.timings.calls == n_calls
    assert caller.timings.called_s >= 0.01 * n_calls
    assert caller.timings.waited_s == 0
