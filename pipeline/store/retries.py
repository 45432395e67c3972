"""Bounded, jittered retries of one store operation under one deadline."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pipeline.errors import CorruptError, RetryError, UnavailableError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")


@dataclass(frozen=True)
class Retries:
    """How often and how long an operation is tried."""

    timeout_s: float = 60.0
    attempts: int = 8
    """Waits of up to 0.1, 0.2, 0.4 … 5 s between them: about ten seconds for a store that refuses at once."""
    longest_wait_s: float = 5.0
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False)
    clock: Callable[[], float] = field(default=time.monotonic, compare=False)

    def call(self, action: Callable[[], T], key: str, *, extra_s: float = 0.0) -> T:
        """Call until it returns or raises anything but RetryError.

        Args:
            extra_s: added to the deadline, for the bytes of a transfer.

        Raises:
            UnavailableError: attempts or time are used up.
        """
        started = self.clock()
        try:
            return action()
        except RetryError:
            return self._again(action, key, started, started + self.timeout_s + extra_s)

    def _again(self, action: Callable[[], T], key: str, started: float, deadline: float) -> T:
        # Few operations are tried again, and tenacity takes asyncio and ssl along.
        from tenacity import Retrying, retry_if_exception_type, wait_random_exponential

        wait = wait_random_exponential(multiplier=0.1, max=self.longest_wait_s)
        self.sleep(random.uniform(0.0, 0.1))

        def is_over(state: RetryCallState) -> bool:
            # A wait that would end after the deadline is not begun.
            return state.attempt_number >= self.attempts - 1 or self.clock() + state.upcoming_sleep >= deadline

        def give_up(state: RetryCallState) -> T:
            cause = state.outcome.exception() if state.outcome else None
            raise UnavailableError(
                f"{cause}; tried {state.attempt_number + 1} times in {self.clock() - started:.0f} s: "
                "check the network and the store, then run the same command again",
                key,
            ) from None

        retrying = Retrying(
            sleep=self.sleep,
            stop=is_over,
            wait=wait,
            retry=retry_if_exception_type(RetryError),
            retry_error_callback=give_up,
        )
        return retrying(action)


def retry_corrupt(action: Callable[[], T], attempts: int = 3) -> T:
    """Read again where the bytes arrived damaged: what was flipped on the way is whole the next time."""
    for _ in range(attempts - 1):
        with contextlib.suppress(CorruptError):
            return action()
    return action()
