"""A pool of Ray actors that carry out parts. The driver owns the queue; Ray restarts actors and retries nothing."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from pipeline.engine.capacity import capacity
from pipeline.engine.cluster import living_nodes
from pipeline.engine.events import Started, Stopping, Waiting
from pipeline.engine.gcs import GcsWatch
from pipeline.engine.ledger import Ledger
from pipeline.engine.outcome import Outcome
from pipeline.engine.pulse import PULSE_S, clear_pulses, last_words, read_pulses
from pipeline.engine.seat import Crew, Seat
from pipeline.engine.services import raise_problem
from pipeline.engine.stop import StopSignal
from pipeline.engine.work import Resources
from pipeline.errors import EngineError

POLL_S = 0.1  # how soon a stop is seen; a finished part wakes the driver at once
MAX_OPENINGS = 3  # of one worker, each tried three times by Ray, while no other lives
CLOSE_S = 5.0  # for workers to close before they are ended


class Patience(NamedTuple):
    """How long is waited for what, in seconds."""

    part_s: float = 600.0
    """For the next finished row of a worker that has a part in work; then it is ended, and the part is lost."""
    stall_s: float = 60.0
    """Without a living worker; a restart takes 1.5 s, a lost node is noticed after 14 s."""
    give_up_s: float = 300.0
    """Without a living worker; time for a new node or environment, a broken one would last for ever."""


PATIENCE = Patience()


class RayPool:
    """Carries out one ledger. Used once, from one thread."""

    def __init__(
        self, crew: Crew, *, resources: Resources, stop: StopSignal, patience: Patience, gcs: GcsWatch | None = None
    ) -> None:
        """Ask for the actors; `run` waits for them. `resources` is what one of them needs, for the watchdog."""
        self._gcs = gcs
        self._stop = stop
        self._resources = resources
        self._patience = patience
        self._seats = [Seat(number, crew) for number in range(crew.size)]
        self._last_sign_of_life = self._last_lived = self._pulses_read = time.monotonic()

    def run(self, ledger: Ledger, started: Started) -> None:
        """Hand out parts until all are done; tell `started` when the first worker lives.

        Raises:
            InterruptedRunError: stopped; what is done stands.
            EngineError: no worker can be had, or nothing is left to be tried with a part.
            AssayError: what a part failed with.
        """
        was_told = has_started = False
        while not ledger.is_done and not self._stop.is_over:
            if not self._stop.is_stopped:
                for seat in self._seats:
                    seat.reopen_if_due()
                self._hand_out(ledger)
            elif not was_told:
                was_told = True
                ledger.tell(Stopping(sum(bool(seat.hand) for seat in self._seats)))
            if self._stop.is_stopped and not any(seat.hand for seat in self._seats):
                break
            self._gather(ledger)
            if not has_started and any(seat.is_live for seat in self._seats):
                has_started = True
                ledger.tell(started)
            if self._has_lost_cluster():
                break
            self._watch_parts()
            ledger.tell_rows_in_work(sum(seat.rows_in_work for seat in self._seats))
            self._watch_workers(ledger)
        if not ledger.is_done:
            raise ledger.interrupted()

    def end(self, *, is_orderly: bool) -> None:
        """End all workers; if `is_orderly`, after they closed."""
        import ray

        if self._gcs is not None and (self._gcs.is_gone or not self._gcs.answers()):
            return  # each call would wait for it; the workers end with their nodes
        if is_orderly:
            closing = [seat.actor.close.remote() for seat in self._seats if seat.is_live]
            if closing:
                ray.wait(closing, num_returns=len(closing), timeout=CLOSE_S)
        for seat in self._seats:
            if ray.is_initialized():
                ray.kill(seat.actor)
        clear_pulses([seat.pulse_key for seat in self._seats if seat.pulse])

    def _has_lost_cluster(self) -> bool:
        """Whether the cluster has gone while the run was being stopped: nobody is left to wait for.

        Raises:
            EngineError: it has gone, and nobody had asked for a stop.
        """
        try:
            if self._gcs is not None:
                self._gcs.check()
        except EngineError:
            if not self._stop.is_stopped:
                raise
            return True
        return False

    def _hand_out(self, ledger: Ledger) -> None:
        """Everybody gets a first part before anybody gets a second."""
        takers = [seat for seat in self._seats if seat.is_live and seat.can_take()]
        is_alone = sum(seat.is_live for seat in self._seats) == 1
        while takers and ledger.n_waiting:
            takers.sort(key=lambda seat: len(seat.hand))
            takers = [seat for seat in takers if self._give(seat, ledger, is_alone=is_alone) and seat.can_take()]

    def _give(self, seat: Seat, ledger: Ledger, *, is_alone: bool) -> bool:
        assignment = ledger.take(seat.name, is_alone=is_alone, is_fresh=bool(seat.hand))
        if assignment is not None:
            seat.give(assignment)
        return assignment is not None

    def _gather(self, ledger: Ledger) -> None:
        """Wait for the first answer, then take all that are there, each worker's in the order it was asked."""
        import ray

        if not ray.is_initialized():  # the next call would start another Ray, unasked
            raise EngineError("Ray was shut down while the run was at work; what is done is kept: run again")
        refs = [ref for seat in self._seats for ref in seat.hand]
        refs += [seat.opening for seat in self._seats if seat.opening is not None]
        if not refs:
            time.sleep(POLL_S)
            return
        ready, _ = ray.wait(refs, num_returns=1, timeout=POLL_S)
        if ready:
            ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0)
        answered = set(ready)
        for seat in self._seats:
            for ref in [ref for ref in seat.hand if ref in answered]:
                self._settle(seat, ref, ledger)
                if self._stop.is_stopped:
                    self._dismiss(seat, ledger)
                    break
            if seat.opening in answered:
                self._settle_opening(seat)

    def _settle_opening(self, seat: Seat) -> None:
        import ray

        opening, seat.opening = seat.opening, None
        try:
            problem = ray.get(opening)
        except ray.exceptions.RayError as error:
            seat.reopen_later(is_replaced=isinstance(error, ray.exceptions.ActorDiedError))
            if seat.n_failed_openings >= MAX_OPENINGS and not any(other.is_live for other in self._seats):
                raise EngineError(f"{seat.name} ended again and again while it started: {_first_line(error)}") from None
            return
        raise_problem(problem, seat.name)
        self._last_sign_of_life = time.monotonic()
        seat.settle_in()

    def _settle(self, seat: Seat, ref: Any, ledger: Ledger) -> None:
        import ray

        try:
            outcome: Outcome | None = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            raise EngineError(f"{seat.hand[ref]} could not be handed to {seat.name}: {error}") from None
        except ray.exceptions.RayError as error:
            is_blamed = seat.blame(ref)
            assignment = seat.hand.pop(ref)
            if seat.opening is None:
                seat.reopen(is_replaced=isinstance(error, ray.exceptions.ActorDiedError))
            if is_blamed:
                ledger.lose(
                    assignment, seat.ended_because or last_words(seat.pulse_key) or _first_line(error), seat.name
                )
            else:
                ledger.put_back(assignment)
            return
        assignment = seat.settle(ref)
        self._last_sign_of_life = time.monotonic()
        if outcome is None:
            ledger.put_back(assignment)
        else:
            ledger.settle(assignment, outcome, seat.name)

    def _dismiss(self, seat: Seat, ledger: Ledger) -> None:
        """Nothing more from this worker: what was queued behind is left, begun a moment ago or not.

        Source: on Ray 2.60 `ray.cancel` does not take a queued call from an actor: it is carried out, its answer lost.
        """
        import ray

        ray.kill(seat.actor)
        for assignment in seat.hand.values():
            ledger.put_back(assignment)
        seat.hand.clear()
        seat.is_live, seat.opening = False, None

    def _watch_parts(self) -> None:
        """End the workers in which nothing gets on."""
        import ray

        now = time.monotonic()
        busy = [seat for seat in self._seats if seat.is_live and seat.hand and now - seat.last_news > PULSE_S]
        if not busy or now - self._pulses_read < PULSE_S:
            return
        self._pulses_read = now
        pulses = read_pulses([seat.pulse_key for seat in busy])
        for seat in busy:
            seat.see(pulses.get(seat.pulse_key, seat.pulse))
            if now - seat.last_news >= self._patience.part_s and seat.ended_because is None:
                seat.ended_because = (
                    f"no row was finished for {self._patience.part_s:.0f} s, so the worker was ended (part_timeout)"
                )
                ray.kill(seat.actor, no_restart=False)

    def _watch_workers(self, ledger: Ledger) -> None:
        now = time.monotonic()
        if any(seat.is_live for seat in self._seats):
            self._last_lived = now
            return
        without_s, silent_s = now - self._last_lived, now - self._last_sign_of_life
        if without_s >= self._patience.give_up_s:
            raise EngineError(
                f"no worker has lived for {without_s:.0f} s, though the cluster has room for one: others may be using "
                "it, or workers cannot start; check the workers' runtime_env (py_executable, working_dir, pip) and the "
                "logs of Ray; what is done is kept, the same command goes on"
            )
        if silent_s < self._patience.stall_s:
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
