"""Hands out permits by key: the pace, the queue, the pause. Its clock is given; it sleeps, sends and starts nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pipeline.records.limits import LimitRule, PermitAnswer, PermitRequest, Refusal

BATCH_S = 0.2  # of the pace at most in one answer: few messages, and little is lost with a worker that dies
AHEAD_S = 0.2  # how far ahead of its time a permit is given: longer than a message travels
BURST_S = 0.1  # of the pace may be caught up after a lull
LEASE_S = 0.1  # after its time, a permit that nobody has taken is void
ASK_AGAIN_S = 1.0  # at most between two questions of a client that waits: others may have left
SOON_S = 0.001  # at least between two questions
GRACE_S = 0.5  # a client that is later than it was told has lost its place
CUT = 0.5  # a refusal halves the pace,
CUT_APART_S = 1.0  # not more often than that,
LEAST_PACE = 1 / 64  # down to this share of what is stated;
RECOVERY_PER_S = 0.05  # then a twentieth of what is stated comes back each second


class PermitDesk:
    """One desk. Its permits lie evenly in time, all clients together, and so the endpoint sees no bursts.

    In any time of `t` seconds, at most `rate * (t + BURST_S) + 1` permits have their time, and with those that are
    used late `rate * (t + BURST_S + LEASE_S) + 1` calls begin. Thread-safe.

    Args:
        clock: seconds, from anywhere.
        starts_empty: the first permit of a key comes after its interval, not at once: others may have just used some.
    """

    def __init__(self, clock: Callable[[], float], *, starts_empty: bool = False) -> None:
        self._clock = clock
        self._starts_empty = starts_empty
        self._lines: dict[str, _Line] = {}
        self._lock = threading.Lock()

    def ask(self, request: PermitRequest) -> PermitAnswer:
        """See `LimitDesk`."""
        with self._lock:
            now = self._clock()
            line = self._lines.get(request.rule.key)
            if line is None:
                first = now + (_interval(request.rule) if self._starts_empty else 0.0)
                line = self._lines[request.rule.key] = _Line(first)
            line.learn(request, now)
            return line.answer(request, now)


def _interval(rule: LimitRule) -> float:
    """Seconds from one call to the next."""
    return max(_call_interval(rule), _unit_interval(rule))


def _call_interval(rule: LimitRule) -> float:
    return 1.0 / rule.calls_per_s if rule.calls_per_s else 0.0


def _unit_interval(rule: LimitRule) -> float:
    return rule.units_per_call / rule.units_per_s if rule.units_per_s else 0.0


class _Line:
    """The state of one key. All times are the desk's clock."""

    def __init__(self, first: float) -> None:
        self.next_call = first
        self.next_unit = first
        self.paused_until = first
        self.queue: dict[str, float] = {}
        """Who was told to come back, in that order → when it has lost its place."""
        self._pace = 1.0
        self._pace_from = first
        self._last_cut = -float("inf")

    def learn(self, request: PermitRequest, now: float) -> None:
        """Settle units, hear of refusals, forget who is gone."""
        if request.rule.units_per_s:
            self.next_unit = max(self.next_unit, now - BURST_S) + request.units_owed / request.rule.units_per_s
        for refusal in request.refusals:
            self._slow_down(refusal, now)
        self._pause(request.pause_s, now)
        self.queue = {client: until for client, until in self.queue.items() if until >= now}

    def answer(self, request: PermitRequest, now: float) -> PermitAnswer:
        """Permits if it is the client's turn, else when to come back."""
        rule, pause_s = request.rule, max(0.0, self.paused_until - now)
        if request.wanted < 1:
            return PermitAnswer(0, 0.0, 0.0, ASK_AGAIN_S, pause_s)
        pace = self.pace(now)
        spacing = _interval(rule) / pace
        others = len(self.queue) - (request.client in self.queue)
        most = max(1, int(BATCH_S / spacing / (1 + others)))
        start = self._start(spacing, now)
        early_s = start + self._ahead_of(request.client) * most * spacing - now - AHEAD_S
        if early_s > 0:
            back_s = max(SOON_S, min(early_s, ASK_AGAIN_S), pause_s - AHEAD_S)
            self.queue[request.client] = now + back_s + GRACE_S
            return PermitAnswer(0, 0.0, 0.0, back_s, pause_s)
        self.queue.pop(request.client, None)
        permits = min(request.wanted, most)
        last = start + (permits - 1) * spacing
        self.next_call, self.next_unit = last + _call_interval(rule) / pace, last + _unit_interval(rule) / pace
        return PermitAnswer(permits, start - now, spacing, 0.0, pause_s)

    def pace(self, now: float) -> float:
        """The share of the stated rate that is handed out now."""
        return min(1.0, self._pace + RECOVERY_PER_S * max(0.0, now - self._pace_from))

    def _start(self, spacing: float, now: float) -> float:
        """When the next permit is due. A pause leaves nothing to be caught up."""
        caught_up = now - max(0.0, BURST_S - spacing)
        return max(caught_up, self.next_call, self.next_unit, self.paused_until)

    def _ahead_of(self, client: str) -> int:
        clients = list(self.queue)
        return clients.index(client) if client in self.queue else len(clients)

    def _slow_down(self, refusal: Refusal, now: float) -> None:
        if now - refusal.call_age_s >= self._last_cut and now - self._last_cut >= CUT_APART_S:
            self._pace = max(LEAST_PACE, self.pace(now) * CUT)
            self._last_cut = self._pace_from = now
        self._pause(refusal.pause_s, now)

    def _pause(self, pause_s: float, now: float) -> None:
        """Nobody calls until then. The pace recovers after the pause, not in it."""
        if now + pause_s > self.paused_until and pause_s > 0:
            self._pace, self._pace_from = self.pace(now), now + pause_s
            self.paused_until = now + pause_s
