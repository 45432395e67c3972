"""How many requests are under way, how many begin a minute, when nobody may ask: of one endpoint, in this process."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

from pipeline.records.limits import LimitRule, PermitRequest, Refusal
from pipeline.records.permits import PermitDesk
from pipeline.records.provider_profile import ProviderProfile

_desk = PermitDesk(time.monotonic)  # for all providers of this process: an account is not divided by who asks
_numbers = itertools.count()


class Limiter:
    """Lets requests begin: `async with limiter` around each. The pace is that of the desk, first come first served.

    Args:
        profile: its concurrency, its requests a minute, and what they are counted by: address and key.
        clock: seconds, from anywhere; that of the desk.
        desk: hands out permits.
        sleep: waits.
    """

    def __init__(
        self,
        profile: ProviderProfile,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        desk: PermitDesk = _desk,
    ) -> None:
        self._slots = asyncio.Semaphore(profile.concurrency)
        self._rule: LimitRule | None = None
        if profile.requests_per_minute is not None:
            key = f"{profile.base_url or profile.name} {profile.api_key_env or ''}"
            self._rule = LimitRule(key, calls_per_s=profile.requests_per_minute / 60.0)
        self._clock, self._sleep, self._desk = clock, sleep, desk
        self._paused_until = clock()

    async def __aenter__(self) -> None:
        """Wait until one request may begin; it ends where the block does."""
        await self._slots.acquire()
        try:
            await self._wait()
        except BaseException:
            self._slots.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._slots.release()

    def refuse(self, call_s: float, pause_s: float) -> None:
        """The endpoint refused a request, which took `call_s`: nobody asks for `pause_s`, then slower for a while."""
        self._paused_until = max(self._paused_until, self._clock() + pause_s)
        if self._rule is not None:
            self._desk.ask(PermitRequest(self._rule, "", 0, refusals=(Refusal(call_s, pause_s),)))

    async def _wait(self) -> None:
        while True:
            if self._rule is not None:
                await self._wait_for_permit(self._rule)
            pause_s = self._paused_until - self._clock()
            if pause_s <= 0:
                return
            await self._sleep(pause_s)

    async def _wait_for_permit(self, rule: LimitRule) -> None:
        client = str(next(_numbers))
        while True:
            answer = self._desk.ask(PermitRequest(rule, client, 1))
            wait_s = answer.first_in_s if answer.permits else answer.ask_again_in_s
            if wait_s > 0:
                await self._sleep(wait_s)
            if answer.permits:
                return
