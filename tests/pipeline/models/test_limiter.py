"""How many requests are under way, how many begin a minute, and what a 429 does to the others."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

import pytest
from aiohttp import web

from pipeline.models.limiter import Limiter
from pipeline.records.permits import PermitDesk
from pipeline.records.provider_profile import ProviderProfile

_names = itertools.count()


class Clock:
    """Time that passes where somebody sleeps, earliest sleeper first."""

    def __init__(self) -> None:
        self.now = 100.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + max(0.0, seconds), next(_names), woken))
        await woken

    async def run(self, work: Any) -> Any:
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(20):
                await asyncio.sleep(0)
            if self._sleepers and not task.done():
                first = min(self._sleepers, key=lambda sleeper: sleeper[:2])
                self._sleepers.remove(first)
                self.now = max(self.now, first[0])
                first[2].set_result(None)
        return await task


def limiter_of(clock: Clock, **members: Any) -> Limiter:
    profile = ProviderProfile.model_validate({"name": f"p{next(_names)}", "kind": "local", **members})
    return Limiter(profile, clock=clock, sleep=clock.sleep, desk=PermitDesk(clock))


def begin_times(n_requests: int, **members: Any) -> list[float]:
    clock = Clock()

    async def run() -> list[float]:
        limiter, began = limiter_of(clock, **members), []

        async def request() -> None:
            async with limiter:
                began.append(clock.now - 100.0)
                await clock.sleep(1.0)

        await asyncio.gather(*(request() for _ in range(n_requests)))
        return sorted(began)

    return asyncio.run(clock.run(run()))


def test_no_more_requests_are_under_way_than_the_profile_allows() -> None:
    assert begin_times(6, concurrency=2) == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]


def test_requests_begin_evenly_over_the_minute() -> None:
    began = begin_times(10, requests_per_minute=120)
    assert began[-1] >= 4.4
    assert began[-1] < 7
    for first in range(9):
        assert began[first + 1] - began[first] > 0.39, began


def test_after_a_refusal_nobody_asks_for_the_pause_and_then_slower() -> None:
    clock = Clock()

    async def run() -> list[float]:
        limiter, began = limiter_of(clock, requests_per_minute=600), []
        async with limiter:
            pass
        limiter.refuse(0.0, 30.0)
        for _ in range(3):
            async with limiter:
                began.append(clock.now - 100.0)
        return began

    began = asyncio.run(clock.run(run()))
    assert began[0] >= 30.0
    assert began[2] - began[1] > 0.15  # at 600 a minute it was 0.1


@pytest.mark.parametrize("members", [{}, {"requests_per_minute": 600}])
def test_who_is_cancelled_while_waiting_takes_no_place(members: dict[str, Any]) -> None:
    async def run() -> None:
        limiter = Limiter(ProviderProfile.model_validate({"name": "c", "kind": "local", "concurrency": 1, **members}))
        async with limiter:
            waiting = asyncio.create_task(limiter.__aenter__())
            await asyncio.sleep(0.02)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with asyncio.timeout(2), limiter:
            pass

    asyncio.run(run())


def test_who_is_cancelled_in_a_pause_gives_back_its_place() -> None:
    clock = Clock()

    async def run() -> None:
        limiter = limiter_of(clock, concurrency=1)
        limiter.refuse(0.0, 30.0)
        waiting = asyncio.create_task(limiter.__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        clock.now += 60
        async with asyncio.timeout(2), limiter:
            pass

    asyncio.run(run())


def test_a_429_of_one_request_holds_back_the_others_of_its_provider(kit: Any) -> None:
    began: list[float] = []
    is_first = True

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal is_first
        began.append(time.monotonic())
        if is_first:
            is_first = False
            return await kit.answers("", status=429, headers={"Retry-After": "0.5"})(request)
        return await kit.answers(kit.chat())(request)

    async def run() -> Any:
        async with kit.server(handler) as server:
            provider = kit.open(kit.profile_of(server.url, concurrency=1), None, {})
            found = await asyncio.gather(*(provider.complete(kit.said()) for _ in range(3)))
            await provider.close()
            return found

    found = kit.run_clean(run())
    assert all(completion.reply.message is not None for completion in found)
    assert began[1] - began[0] >= 0.5


def test_a_real_server_sees_no_more_requests_than_are_allowed(kit: Any) -> None:
    under_way = most = 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.02)
        under_way -= 1
        return await kit.answers(kit.chat())(request)

    async def run() -> None:
        async with kit.server(handler) as server:
            provider = kit.open(kit.profile_of(server.url, concurrency=3), None, {})
            await asyncio.gather(*(provider.complete(kit.said()) for _ in range(12)))
            await provider.close()

    kit.run_clean(run())
    assert most == 3
