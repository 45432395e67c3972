"""What waits, what is done, and how often each part was tried. Knows neither processes nor Ray."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence

from pipeline.engine.events import Event, PartDone, PartFailed
from pipeline.engine.outcome import Failure, Outcome
from pipeline.errors import AssayError, EngineError, InterruptedRunError
from pipeline.records.plan import Part, Receipt

MAX_ATTEMPTS = 3  # per part, for reasons that may pass; a worker that dies three times on one part dies of that part


class Ledger:
    """The driver's book of one run. Called from one thread."""

    def __init__(self, parts: Sequence[Part], on_event: Callable[[Event], None]) -> None:
        self.receipts: dict[int, Receipt] = {}
        self.tell = on_event
        self._waiting = deque(parts)
        self._n_parts = len(parts)
        self._attempts: Counter[int] = Counter()
        self._lost_by: dict[int, str] = {}

    @property
    def is_done(self) -> bool:
        """Every part has a receipt."""
        return len(self.receipts) == self._n_parts

    @property
    def n_waiting(self) -> int:
        """Parts that nobody has in work."""
        return len(self._waiting)

    def take(self, worker: str, *, is_alone: bool) -> Part | None:
        """The next part for this worker; not one that it lost before, unless it is alone. None: nothing for it."""
        for position, part in enumerate(self._waiting):
            if is_alone or self._lost_by.get(part.index) != worker:
                del self._waiting[position]
                return part
        return None

    def settle(self, part: Part, outcome: Outcome, worker: str) -> None:
        """Take down what a worker sent back.

        Raises:
            AssayError: the failure, if trying again is useless or was tried often enough.
        """
        if outcome.receipt is not None:
            self.receipts[part.index] = outcome.receipt
            self.tell(PartDone(outcome.receipt, outcome.seconds, worker))
            return
        failure = outcome.failure or Failure("EngineError", "the worker sent nothing back", "", is_retryable=True)
        what = _name_of(part)
        if not failure.is_retryable:
            raise failure.to_error(what)
        self._try_again(part, str(failure), worker, failure.to_error(f"{what}, tried {MAX_ATTEMPTS} times,"))

    def lose(self, part: Part, message: str, worker: str) -> None:
        """The worker died with this part in work.

        Raises:
            EngineError: it was the third time.
        """
        error = EngineError(
            f"{_name_of(part)} was lost with its worker {MAX_ATTEMPTS} times, last: {message}; a row of it may need "
            "more memory than a worker has, or end the process. What is done is kept: the same command goes on"
        )
        self._try_again(part, message, worker, error)

    def put_back(self, part: Part) -> None:
        """The part was not begun: its attempt does not count."""
        self._waiting.appendleft(part)

    def interrupted(self) -> InterruptedRunError:
        """The error of a run that was stopped."""
        done, left = len(self.receipts), self._n_parts - len(self.receipts)
        return InterruptedRunError(
            f"stopped: {done} of {self._n_parts} parts done and kept; the same command goes on with the other {left}",
            receipts=dict(self.receipts),
        )

    def _try_again(self, part: Part, message: str, worker: str, last_error: AssayError) -> None:
        self._attempts[part.index] += 1
        self.tell(PartFailed(part.index, self._attempts[part.index], message, worker))
        if self._attempts[part.index] >= MAX_ATTEMPTS:
            raise last_error
        self._lost_by[part.index] = worker
        self._waiting.appendleft(part)


def _name_of(part: Part) -> str:
    return f"part {part.index} (rows {part.first_row} to {part.first_row + part.rows - 1})"
