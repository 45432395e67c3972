"""Pools of actors with resources of their own, which serve the parts' workers: a model on a GPU, a large scorer."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pipeline.engine.outcome import Failure, LostServiceError
from pipeline.errors import EngineError

OPEN_TRIES = 5  # besides Ray's own: a member that is being restarted may refuse them all within a moment
RESTART_S = 1.5  # that a restart takes, about


class Members(NamedTuple):
    """One pool, as the workers are told of it."""

    actors: Sequence[Any]
    opening: tuple[Any, ...]
    """The arguments of a member's `open`: one that was restarted is opened by whoever finds it closed."""
    timeout_s: float
    """Seconds for one request; then the member is ended and started anew."""


class Answer(NamedTuple):
    """What a member sends back: a value or a failure."""

    value: Any
    failure: Failure | None = None


class ServiceClient:
    """Sends requests to the members in turn. Thread-safe; one in each worker."""

    def __init__(self, name: str, members: Members) -> None:
        self._name = name
        self._members = members
        start = random.randrange(len(members.actors))  # so that not every worker begins with the same one
        self._turns = itertools.islice(itertools.cycle(members.actors), start, None)

    def __call__(self, request: Any) -> Any:
        """The answer to one request.

        Raises:
            LostServiceError: the member was lost, or gave no answer in time; the request may have been carried out.
            AssayError: what the member failed with.
        """
        actor = next(self._turns)
        # Opening again costs a round trip and waits while the member is restarted; a request would fail at once.
        self._open(actor)
        answer = self._ask(actor, lambda: actor.serve.remote(request), self._members.timeout_s)
        if answer is None:
            raise LostServiceError(f"{self._name} was restarted while it was asked")
        if answer.failure is not None:
            raise answer.failure.to_error(self._name)
        return answer.value

    def _open(self, actor: Any) -> None:
        """To load what it serves may take minutes, so it has no deadline; to open again does nothing twice."""
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

        patient = Retrying(
            stop=stop_after_attempt(OPEN_TRIES),
            wait=wait_fixed(RESTART_S),
            retry=retry_if_exception_type(LostServiceError),
            reraise=True,
        )
        problem = patient(self._ask, actor, lambda: actor.open.remote(*self._members.opening), None)
        raise_problem(problem, self._name)

    def _ask(self, actor: Any, send: Callable[[], Any], timeout_s: float | None) -> Any:
        import ray

        try:
            return ray.get(send(), timeout=timeout_s)
        except ray.exceptions.GetTimeoutError:
            ray.kill(actor, no_restart=False)
            raise LostServiceError(f"{self._name} gave no answer within {timeout_s:.0f} s") from None
        except ray.exceptions.RayTaskError as error:
            raise EngineError(f"{self._name} could not answer: {error}") from None
        except ray.exceptions.RayError as error:
            raise LostServiceError(f"{self._name} was lost: {type(error).__name__}") from None


def raise_problem(problem: Any, name: str) -> None:
    """Raise what `open` of an actor returned, unless it is ready."""
    if problem is not None:
        raise EngineError(problem) if isinstance(problem, str) else problem.to_error(f"opening {name}")
