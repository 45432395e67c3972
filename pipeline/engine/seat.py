"""A worker's place in the pool: its actor, what it has in hand, and whether it lives."""

from __future__ import annotations

import itertools
import pickle
import time
from typing import Any, NamedTuple

from pipeline.engine.assignment import Assignment
from pipeline.engine.pulse import rows_in_work

REOPEN_S = 1.5  # after an opening that failed; a restart takes so long


class Crew(NamedTuple):
    """Who works in a pool."""

    actor_class: Any
    """Of `engine_actor`, with Ray's options bound."""
    opening: tuple[Any, ...]
    """The arguments of its `open`, but for the key of its pulse."""
    size: int
    parts_at_once: int
    """That one worker has in work; one more waits in its queue, so that it never waits for the driver."""
    name: str
    """Of the run, on the cluster: no two are equal."""


class Seat:
    """A worker's place."""

    def __init__(self, number: int, crew: Crew) -> None:
        self.name = f"worker {number}"
        self.pulse_key = f"assay-pulse/{crew.name}/{number}".encode()
        self._crew = crew
        self.hand: dict[Any, Assignment] = {}
        """By the reference of the answer, in the order in which the actor was asked."""
        self.actor = crew.actor_class.remote()
        self.opening = self._open()
        self.is_live = False
        self.pulse = b""
        """As it was last read; empty: it was not."""
        self.rows_in_work = 0
        """That are done of what it has in hand, about."""
        self.last_news = time.monotonic()
        """When something of what it has in hand was last known to get on."""
        self.ended_because: str | None = None
        """What the driver ended it for; None: it died of itself."""
        self.n_failed_openings = 0
        """In a row."""
        self._reopen_at: float | None = None
        self._suspects: set[Any] = set()

    def can_take(self) -> bool:
        """Whether its queue has room. What ended a worker before is alone in the hand: it takes no other with it."""
        return len(self.hand) <= self._crew.parts_at_once and not any(item.is_retry for item in self.hand.values())

    def give(self, assignment: Assignment) -> None:
        """Ask the actor."""
        if not self.hand:
            self.note_news()
        self.hand[self.actor.carry_out.remote(pickle.dumps(assignment))] = assignment

    def note_news(self) -> None:
        """Something gets on."""
        self.last_news = time.monotonic()

    def settle(self, ref: Any) -> Assignment:
        """The actor answered."""
        assignment = self.hand.pop(ref)
        # What was last heard of may be of this part or of another one: less than both is shown until it is known.
        self.rows_in_work = max(0, self.rows_in_work - assignment.rows)
        self.note_news()
        return assignment

    def see(self, pulse: bytes) -> None:
        """What the worker wrote down; the same as before is no news."""
        if pulse != self.pulse:
            self.pulse = pulse
            self.rows_in_work = min(rows_in_work(pulse), sum(assignment.rows for assignment in self.hand.values()))
            self.note_news()

    def blame(self, ref: Any) -> bool:
        """The worker died before it answered: whether this was in work, or only in the queue."""
        if self.is_live:
            self._suspects = set(itertools.islice(self.hand, self._crew.parts_at_once))
            self.is_live = False
        return ref in self._suspects

    def reopen(self, *, is_replaced: bool) -> None:
        """Ray restarts an actor whose process ended; one that is dead for good is replaced."""
        self.is_live, self.rows_in_work = False, 0
        if is_replaced:
            self.actor = self._crew.actor_class.remote()
        self.opening = self._open()

    def reopen_later(self, *, is_replaced: bool) -> None:
        """It could not be opened, again and again or because Ray was not done restarting it."""
        self.n_failed_openings += 1
        self._reopen_at = time.monotonic() + REOPEN_S
        if is_replaced:
            self.actor = self._crew.actor_class.remote()

    def reopen_if_due(self) -> None:
        """Open it, if it waits for that and has waited long enough."""
        if self._reopen_at is not None and time.monotonic() >= self._reopen_at:
            self._reopen_at = None
            self.opening = self._open()

    def settle_in(self) -> None:
        """The actor is open."""
        self.n_failed_openings = 0
        self.is_live, self.ended_because, self.pulse = True, None, b""
        self._suspects.clear()
        self.note_news()

    def _open(self) -> Any:
        return self.actor.open.remote(*self._crew.opening, self.pulse_key)
