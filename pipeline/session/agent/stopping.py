"""What ends a session from outside, whatever it is doing: its clock, or a person."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from pipeline.records.audit_names import EndReason
from pipeline.records.exchange import Completion
from pipeline.session.agent.ending import Ending, given_up


class Stopping(Protocol):
    """Asked before each exchange: whether there may be one more. A replay has what was recorded of it."""

    def ending(self) -> Ending | None:
        """How the session ends now; None: it goes on. Once it ends, it does not go on again."""
        ...

    async def answer(self, work: Coroutine[Any, Any, Completion], /) -> Completion:
        """The answer to a request, or what stands for one that is waited for no longer."""
        ...


class Stop:
    """A person's wish that a session and its helpers end. They work one at a time, so at most one of them waits."""

    def __init__(self) -> None:
        self.wished = threading.Event()
        """Seen by commands that run."""
        self.waiting: asyncio.Task[Completion] | None = None

    def wish(self) -> None:
        """End what is under way. Called in the loop in which the session runs."""
        self.wished.set()
        if self.waiting is not None:
            self.waiting.cancel()


class Deadline:
    """The clock of one session, and the wish to end it.

    Args:
        now: seconds, from anywhere.
        wall_clock_s: how long the session may take.
        stop: shared with its helpers.
        latest: end of the session that it helps, on the same clock.
    """

    def __init__(self, now: Callable[[], float], wall_clock_s: float, stop: Stop, latest: float = float("inf")) -> None:
        self._now, self._wall_clock_s, self._stop = now, wall_clock_s, stop
        self.until = min(latest, now() + wall_clock_s)

    def left_s(self) -> float:
        """Seconds until the end, never less than 0."""
        return max(0.0, self.until - self._now())

    def ending(self) -> Ending | None:
        """How the session ends now; None: it goes on."""
        if self._stop.wished.is_set():
            return Ending(EndReason.CANCELED_BY_USER, "interrupted", is_from_outside=True)
        if self.left_s() <= 0:
            detail = f"{self._wall_clock_s:g} s are used up"
            return Ending(EndReason.BUDGET_REACHED, detail, is_from_outside=True)
        return None

    async def answer(self, work: Coroutine[Any, Any, Completion]) -> Completion:
        """The answer to a request, waited for until the end of the session."""
        began, task = self._now(), asyncio.ensure_future(work)
        self._stop.waiting = task
        try:
            return await asyncio.wait_for(task, self.left_s())
        except TimeoutError:
            return given_up(self._now() - began)
        except asyncio.CancelledError:
            if not self._stop.wished.is_set() or _is_canceled_itself():
                raise
            return given_up(self._now() - began)
        finally:
            self._stop.waiting = None


def _is_canceled_itself() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
