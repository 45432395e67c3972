"""A pool of Ray actors that carry out parts. The driver owns the queue; Ray restarts actors and retries nothing."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from pipeline.engine.capacity import capacity
from pipeline.engine.cluster import living_nodes
from pipeline.engine.events import Started, Stopping, Waiting
from pipeline.engine.ledger import Ledger
from pipeline.engine.outcome import Failure, Outcome
from pipeline.engine.stop import StopSignal
from pipeline.engine.work import Resources
from pipeline.errors import EngineError
from pipeline.records.plan import Part

IN_FLIGHT_PER_WORKER = 2  # parts: one in work, one already there, so an actor never waits for the driver
POLL_S = 0.1  # how soon a stop is seen; a finished part wakes the driver at once
STALL_S = 60.0  # without a living worker; a restart takes 1.5 s, a lost node is noticed after 14 s
GIVE_UP_S = 300.0  # without a living worker; time for a new node or environment, a broken one would last for ever
CLOSE_S = 5.0  # for workers to close before they are ended


class Crew(NamedTuple):
    """Who works in a pool."""

    actor_class: Any
    """Of `part_actor`, with Ray's options bound."""
    opening: tuple[Any, ...]
    """The arguments of its `open`."""
    size: int


class _Seat:
    """A worker's place: its actor, the parts it has in hand, and whether it lives."""

    def __init__(self, name: str, crew: Crew) -> None:
        self.name = name
        self._crew = crew
        self.parts: dict[Any, Part] = {}
        """By the reference of the answer, in the order in which the actor was asked."""
        self.actor = crew.actor_class.remote()
        self.opening = self.actor.open.remote(*crew.opening)
        self.is_live = False
        self.has_lost = False
        """The part that it had in work when it died is accounted for: what still fails was only queued."""

    def reopen(self, *, is_replaced: bool) -> None:
        """Ray restarts an actor whose process ended; one that is dead for good is replaced."""
        self.is_live = False
        if is_replaced:
            self.actor = self._crew.actor_class.remote()
        self.opening = self.actor.open.remote(*self._crew.opening)


class RayPool:
    """Carries out one ledger. Used once, from one thread."""

    def __init__(self, crew: Crew, *, resources: Resources, stop: StopSignal) -> None:
        """Ask for the actors; `run` waits for them. `resources` is what one of them needs, for the watchdog."""
        self._stop = stop
        self._resources = resources
        self._seats = [_Seat(f"worker {number}", crew) for number in range(crew.size)]
        self._last_sign_of_life = self._last_lived = time.monotonic()

    def run(self, ledger: Ledger, started: Started, *, stall_s: float = STALL_S, give_up_s: float = GIVE_UP_S) -> None:
        """Hand out parts until all are done; tell `started` when the first worker lives.

        Raises:
            InterruptedRunError: stopped; what is done stands.
            EngineError: no worker can be had, or a part was lost with its worker for the third time.
            AssayError: what a part failed with.
        """
        was_told = has_started = False
        while not ledger.is_done and not self._stop.is_over:
            if not self._stop.is_stopped:
                self._hand_out(ledger)
            elif not was_told:
                was_told = True
                ledger.tell(Stopping(sum(bool(seat.parts) for seat in self._seats)))
            if self._stop.is_stopped and not any(seat.parts for seat in self._seats):
                break
            self._gather(ledger)
            if not has_started and any(seat.is_live for seat in self._seats):
                has_started = True
                ledger.tell(started)
            self._watch(ledger, stall_s, give_up_s)
        if not ledger.is_done:
            raise ledger.interrupted()

    def end(self, *, is_orderly: bool) -> None:
        """End all workers; if `is_orderly`, after they closed."""
        import ray

        if is_orderly:
            closing = [seat.actor.close.remote() for seat in self._seats if seat.is_live]
            if closing:
                ray.wait(closing, num_returns=len(closing), timeout=CLOSE_S)
        for seat in self._seats:
            if ray.is_initialized():
                ray.kill(seat.actor)

    def _hand_out(self, ledger: Ledger) -> None:
        live = [seat for seat in self._seats if seat.is_live]
        for depth in range(IN_FLIGHT_PER_WORKER):  # everybody gets a first part before anybody gets a second
            for seat in live:
                if len(seat.parts) > depth:
                    continue
                part = ledger.take(seat.name, is_alone=len(live) == 1)
                if part is not None:
                    seat.parts[seat.actor.run_part.remote(part)] = part

    def _gather(self, ledger: Ledger) -> None:
        """Wait for the first answer, then take all that are there, each worker's in the order it was asked."""
        import ray

        if not ray.is_initialized():  # the next call would start another Ray, unasked
            raise EngineError("Ray was shut down while the run was at work; what is done is kept: run again")
        refs = [ref for seat in self._seats for ref in seat.parts]
        refs += [seat.opening for seat in self._seats if seat.opening is not None]
        ready, _ = ray.wait(refs, num_returns=1, timeout=POLL_S)
        if ready:
            ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0)
        answered = set(ready)
        for seat in self._seats:
            for ref in [ref for ref in seat.parts if ref in answered]:
                self._settle_part(seat, ref, ledger)
                if self._stop.is_stopped:
                    self._dismiss(seat, ledger)
                    break
            if seat.opening in answered:
                self._settle_opening(seat)

    def _settle_opening(self, seat: _Seat) -> None:
        import ray

        opening, seat.opening = seat.opening, None
        try:
            problem: str | Failure | None = ray.get(opening)
        except ray.exceptions.RayError as error:
            if not any(other.is_live for other in self._seats):
                raise EngineError(f"{seat.name} ended again and again while it started: {_first_line(error)}") from None
            seat.reopen(is_replaced=isinstance(error, ray.exceptions.ActorDiedError))
            return
        if problem is not None:
            raise EngineError(problem) if isinstance(problem, str) else problem.to_error(f"opening {seat.name}")
        self._last_sign_of_life = time.monotonic()
        seat.is_live, seat.has_lost = True, False

    def _settle_part(self, seat: _Seat, ref: Any, ledger: Ledger) -> None:
        import ray

        was_in_work = ref is next(iter(seat.parts)) and not seat.has_lost
        part = seat.parts.pop(ref)
        try:
            outcome: Outcome | None = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            raise EngineError(f"part {part.index} could not be handed to {seat.name}: {error}") from None
        except ray.exceptions.RayError as error:
            if seat.opening is None:
                seat.reopen(is_replaced=isinstance(error, ray.exceptions.ActorDiedError))
            if was_in_work:
                seat.has_lost = True
                ledger.lose(part, _first_line(error), seat.name)
            else:
                ledger.put_back(part)
        else:
            self._last_sign_of_life = time.monotonic()
            if outcome is None:
                ledger.put_back(part)
            else:
                ledger.settle(part, outcome, seat.name)

    def _dismiss(self, seat: _Seat, ledger: Ledger) -> None:
        """Nothing more from this worker: the part that was queued behind is left, begun a moment ago or not.

        Source: on Ray 2.60 `ray.cancel` does not take a queued call from an actor: it is carried out, its answer lost.
        """
        import ray

        ray.kill(seat.actor)
        for part in seat.parts.values():
            ledger.put_back(part)
        seat.parts.clear()
        seat.is_live, seat.opening = False, None

    def _watch(self, ledger: Ledger, stall_s: float, give_up_s: float) -> None:
        now = time.monotonic()
        if any(seat.is_live for seat in self._seats):
            self._last_lived = now
            return
        without_s, silent_s = now - self._last_lived, now - self._last_sign_of_life
        if without_s >= give_up_s:
            raise EngineError(
                f"no worker has lived for {without_s:.0f} s, though the cluster has room for one: others may be using "
                "it, or workers cannot start; check the workers' runtime_env (py_executable, working_dir, pip) and the "
                "logs of Ray; what is done is kept, the same command goes on"
            )
        if silent_s < stall_s:
            return
        if capacity(living_nodes(), self._resources) == 0:
            raise EngineError(
                f"no worker lives, and no node is left that could hold one ({silent_s:.0f} s without a sign of life): "
                "mend the cluster; what is done is kept, the same command goes on"
            )
        ledger.tell(Waiting(without_s, "waiting for the cluster to start a worker; others may be using it"))
        self._last_sign_of_life = now


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
