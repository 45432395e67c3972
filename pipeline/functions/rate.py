"""The worker's side of a rate limit: permits are asked for ahead, many in one message, and each call takes one."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from pipeline.records.limits import LimitDesk, LimitRule, PermitAnswer, PermitRequest, Refusal
from pipeline.records.permits import LEASE_S, PermitDesk

IDLE_S = 1.0  # the thread that asks ends after so long without a question, and is started again by the next
MEMORY_S = 0.5  # over which the speed of this worker is measured, to know how much to ask for

_here = PermitDesk(time.monotonic)  # for all functions of a process that no desk of a cluster serves
_numbers = itertools.count()


def limiter_of(rule: LimitRule, desk: LimitDesk | None, share: int) -> RateLimiter:
    """The limiter of a function, in one of `share` workers.

    Args:
        rule: of the function's policy.
        desk: of the cluster; None: this process has one for itself, which hands out this worker's share.
        share: how many workers there are.
    """
    return RateLimiter(rule.divided(share), _here) if desk is None else RateLimiter(rule, desk, share=share)


class RateLimiter:
    """Lets calls pass at the pace of a desk. Thread-safe, for sync and async callers.

    One thread asks the desk while there is something to ask. Where the desk cannot be reached, this worker goes on with
    its share of the limit, and asks again each time.

    Args:
        rule: the limit; its key is what is shared.
        desk: hands out permits.
        share: among how many workers the limit is divided where the desk cannot be reached.
        clock: seconds, from anywhere.
    """

    def __init__(
        self, rule: LimitRule, desk: LimitDesk, *, share: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rule = rule
        self._desk = desk
        self._share = share
        self._own: PermitDesk | None = None
        """Hands out the share, while the desk cannot be reached."""
        self._clock = clock
        self._client = f"{socket.gethostname()}:{os.getpid()}:{next(_numbers)}"
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._callers: deque[Future[float]] = deque()
        self._hand: deque[float] = deque()
        """The times of permits that nobody has taken yet."""
        self._paused_until = -math.inf
        self._owed = 0.0
        self._refused: list[tuple[float, float]] = []
        """When the call began, and the pause that the endpoint asked for."""
        self._pace = _Pace()

    def wait(self) -> float:
        """Wait for a permit: seconds that it took."""
        began = self._clock()
        while True:
            permit = self._take()
            try:
                due = permit.result()
            except BaseException:
                permit.cancel()
                raise
            if (delay := due - self._clock()) > 0:
                time.sleep(delay)
            if due >= self._paused_until:
                return self._clock() - began

    async def wait_async(self) -> float:
        """Let other rows go on until there is a permit: seconds that it took."""
        began = self._clock()
        while True:
            permit = self._take()
            due = permit.result() if permit.done() else await asyncio.wrap_future(permit)
            if (delay := due - self._clock()) > 0:
                await asyncio.sleep(delay)
            if due >= self._paused_until:
                return self._clock() - began

    def settle(self, units: float) -> None:
        """A call took so many units beyond its estimate; below 0: fewer."""
        if units:
            with self._change:
                self._owed += units

    def refuse(self, call_s: float, pause_s: float) -> None:
        """The endpoint refused a call, which took `call_s`: all workers slow down, and nobody calls for `pause_s`."""
        with self._change:
            now = self._clock()
            self._pause(pause_s, now)
            self._refused.append((now - call_s, pause_s))
            self._wake()

    def _take(self) -> Future[float]:
        """The time of a permit: of one in hand, or a promise."""
        permit: Future[float] = Future()
        with self._change:
            now = self._clock()
            self._pace.count(now)
            while self._hand and self._hand[0] < now - LEASE_S:
                self._hand.popleft()
            if self._hand and not self._callers:
                permit.set_result(self._hand.popleft())
            else:
                self._callers.append(permit)
            if self._wanted(now):
                self._wake()
        return permit

    def _wanted(self, now: float) -> int:
        """Permits to ask for: one for each caller, or for what is called before they are void, once half is used up."""
        ahead = int(self._pace.at(now) * LEASE_S)
        missing = ahead - len(self._hand)
        return max(len(self._callers), missing if missing * 2 >= ahead else 0)

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, daemon=True, name="assay-permits")
            self._thread.start()
        self._change.notify_all()

    def _serve(self) -> None:
        try:
            while self._serve_once():
                pass
        except BaseException as error:  # noqa: BLE001 - nobody may wait for a thread that is gone
            with self._change:
                self._thread = None
                while self._callers:
                    if (caller := self._callers.popleft()).set_running_or_notify_cancel():
                        caller.set_exception(error)

    def _serve_once(self) -> bool:
        """One question, when there is one; False: the thread may end."""
        with self._change:
            if not self._change.wait_for(self._has_question, IDLE_S):
                self._thread = None
                return False
            request = self._request()
        answer = self._ask(request)
        with self._change:
            self._accept(answer)
            if request.wanted and not answer.permits:
                self._change.wait_for(lambda: bool(self._refused), answer.ask_again_in_s)
        return True

    def _has_question(self) -> bool:
        return bool(self._refused) or self._wanted(self._clock()) > 0

    def _request(self) -> PermitRequest:
        now = self._clock()
        owed, refused = self._owed, self._refused
        self._owed, self._refused = 0.0, []
        return PermitRequest(
            self.rule,
            self._client,
            self._wanted(now),
            units_owed=owed,
            refusals=tuple(Refusal(now - began, pause_s) for began, pause_s in refused),
            pause_s=max(0.0, self._paused_until - now),
        )

    def _ask(self, request: PermitRequest) -> PermitAnswer:
        try:
            answer = self._desk.ask(request)
        except Exception:  # noqa: BLE001 - whatever keeps the desk away, the calls go on
            if self._own is None:
                self._own = PermitDesk(self._clock, starts_empty=True)
            return self._own.ask(request._replace(rule=self.rule.divided(self._share)))
        self._own = None
        return answer

    def _accept(self, answer: PermitAnswer) -> None:
        now = self._clock()
        if not self._refused:  # the desk knows of every pause but one of this moment
            self._paused_until = -math.inf
        self._pause(answer.pause_s, now)
        for number in range(answer.permits):
            due = now + max(0.0, answer.first_in_s + number * answer.spacing_s)
            while self._callers and not self._callers[0].set_running_or_notify_cancel():
                self._callers.popleft()
            if self._callers:
                self._callers.popleft().set_result(due)
            else:
                self._hand.append(due)

    def _pause(self, pause_s: float, now: float) -> None:
        if pause_s > 0 and now + pause_s > self._paused_until:
            self._paused_until = now + pause_s
            self._hand = deque(due for due in self._hand if due >= self._paused_until)


class _Pace:
    """Calls a second, of late."""

    def __init__(self) -> None:
        self._per_s = 0.0
        self._seen = 0.0

    def count(self, now: float) -> None:
        """One more."""
        self._per_s, self._seen = self.at(now) + 1.0 / MEMORY_S, now

    def at(self, now: float) -> float:
        """The speed, which fades while nothing is called."""
        return self._per_s * math.exp((self._seen - now) / MEMORY_S)
