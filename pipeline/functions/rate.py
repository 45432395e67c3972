"""A rate limit within one process: each call is told how long to wait for its turn."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from pipeline.functions.policies import RateLimitPolicy


class RateLimiter:
    """Spaces calls evenly. Thread-safe; the clock and the sleep of sync calls can be replaced.

    Args:
        per_second: calls a second that this process may make.
    """

    def __init__(
        self,
        per_second: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = 1.0 / per_second
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = 0.0

    def turn(self) -> float:
        """Take the next turn: seconds from now until it comes."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._interval
            return start - now

    def wait(self) -> None:
        """Sleep until the next turn."""
        seconds = self.turn()
        if seconds > 0:
            self._sleep(seconds)

    async def wait_async(self) -> None:
        """Let other rows go on until the next turn."""
        seconds = self.turn()
        if seconds > 0:
            await asyncio.sleep(seconds)


_shared: dict[tuple[str, float], RateLimiter] = {}
_shared_lock = threading.Lock()


def limiter_of(policy: RateLimitPolicy | None, share: int) -> RateLimiter | None:
    """The limiter of a policy in one of `share` workers; those of one key and rate are one in this process."""
    if policy is None:
        return None
    rate = policy.per_second / share
    if policy.key is None:
        return RateLimiter(rate)
    with _shared_lock:
        return _shared.setdefault((policy.key, rate), RateLimiter(rate))
