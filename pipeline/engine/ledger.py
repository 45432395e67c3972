"""What waits, what is done, and how often each part was tried. Knows neither processes nor Ray."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence

from pipeline.engine.assignment import Assignment
from pipeline.engine.events import Event, PartDone, PartFailed, RowBlamed, RowsInWork
from pipeline.engine.outcome import Failure, Outcome
from pipeline.errors import EngineError, InterruptedRunError
from pipeline.records.plan import Part, Receipt

MAX_ATTEMPTS = 3  # per part, and per single row: what ends three workers is not chance
MAX_STEPS = 50  # of one row that may be blamed in turn: more than an evaluation has functions
MAX_BLAMED_IN_A_ROW = 20  # rows: where no row passes between them, the code is broken and not the rows


class Ledger:
    """The driver's book of one run. Called from one thread."""

    def __init__(self, parts: Sequence[Part], on_event: Callable[[Event], None]) -> None:
        self.receipts: dict[int, Receipt] = {}
        self.tell = on_event
        self._waiting = deque(map(Assignment.of, parts))
        self._n_parts = len(parts)
        self._losses: Counter[tuple[int, int, int, bool]] = Counter()
        self._lost_by: dict[tuple[int, int, int, bool], str] = {}
        self._rows_left: dict[int, int] = {}
        """Of parts that were cut: rows that are not kept yet."""
        self._blamed_in_a_row = 0
        self._rows_in_work = 0

    @property
    def is_done(self) -> bool:
        """Every part has a receipt."""
        return len(self.receipts) == self._n_parts

    @property
    def n_waiting(self) -> int:
        """Assignments that nobody has in work."""
        return len(self._waiting)

    def take(self, worker: str, *, is_alone: bool, is_fresh: bool = False) -> Assignment | None:
        """The next one for this worker; not one that it lost before, unless it is alone. None: nothing for it.

        `is_fresh`: none that was tried before.
        """
        for position, assignment in enumerate(self._waiting):
            if is_fresh and assignment.is_retry:
                continue
            if is_alone or self._lost_by.get(_key(assignment)) != worker:
                del self._waiting[position]
                return assignment
        return None

    def settle(self, assignment: Assignment, outcome: Outcome, worker: str) -> None:
        """Take down what a worker sent back.

        Raises:
            AssayError: the failure, if trying again is useless or was tried often enough.
        """
        failure = outcome.failure
        if failure is None and assignment.is_whole and outcome.receipt is None:
            failure = Failure("EngineError", "the worker sent nothing back", "", is_retryable=True)
        if failure is None:
            self._take_down(assignment, outcome, worker)
        elif not failure.is_retryable:
            raise failure.to_error(str(assignment))
        elif failure.is_loss:
            self.lose(assignment, str(failure), worker)
        else:
            n_losses = self._count_loss(assignment, str(failure), worker)
            if n_losses >= MAX_ATTEMPTS:
                raise failure.to_error(f"{assignment}, tried {MAX_ATTEMPTS} times,")
            self._wait_again(assignment)

    def lose(self, assignment: Assignment, message: str, worker: str) -> None:
        """The worker was lost with this assignment in work.

        Raises:
            EngineError: nothing is left to be tried.
        """
        n_losses = self._count_loss(assignment, message, worker)
        if assignment.rows > 1 and not assignment.is_whole:
            self._waiting.extendleft(reversed(assignment.halves()))
        elif n_losses < MAX_ATTEMPTS:
            self._wait_again(assignment)
        elif not assignment.is_whole:
            self._blame(assignment, message, n_losses)
        elif assignment.part.index not in self._rows_left:
            self._cut(assignment, message)
        else:
            raise EngineError(
                f"{assignment} was lost with its worker {MAX_ATTEMPTS} times though each of its rows was done by "
                f"itself, last: {message}; its rows together may need more memory than a worker has: make parts "
                "smaller. What is done is kept: the same command goes on"
            )

    def put_back(self, assignment: Assignment) -> None:
        """It was not begun: its attempt does not count."""
        self._waiting.appendleft(assignment)

    def tell_rows_in_work(self, rows: int) -> None:
        """So many rows are done of parts that are not; told if it was another number before."""
        if rows != self._rows_in_work:
            self._rows_in_work = rows
            self.tell(RowsInWork(rows))

    def interrupted(self) -> InterruptedRunError:
        """The error of a run that was stopped."""
        done, left = len(self.receipts), self._n_parts - len(self.receipts)
        return InterruptedRunError(
            f"stopped: {done} of {self._n_parts} parts done and kept; the same command goes on with the other {left}",
            receipts=dict(self.receipts),
        )

    def _take_down(self, assignment: Assignment, outcome: Outcome, worker: str) -> None:
        index = assignment.part.index
        if outcome.receipt is not None:
            self.receipts[index] = outcome.receipt
            self._rows_in_work = max(0, self._rows_in_work - assignment.rows)
            self.tell(PartDone(outcome.receipt, outcome.seconds, worker))
            return
        if assignment.lost is None:
            self._blamed_in_a_row = 0
        else:
            self._blamed_in_a_row += 1
            self.tell(RowBlamed(index, assignment.first_row, assignment.lost))
        self._rows_left[index] -= assignment.rows
        if self._rows_left[index] == 0:
            self._waiting.appendleft(Assignment.of(assignment.part, attempt=assignment.attempt + 1))

    def _count_loss(self, assignment: Assignment, message: str, worker: str) -> int:
        key = _key(assignment)
        self._losses[key] += 1
        self._lost_by[key] = worker
        self.tell(PartFailed(assignment.part.index, self._losses[key], message, worker))
        return self._losses[key]

    def _wait_again(self, assignment: Assignment) -> None:
        self._waiting.appendleft(assignment._replace(attempt=assignment.attempt + 1))

    def _cut(self, whole: Assignment, message: str) -> None:
        """A row of the part ends its workers: the rows are done by halves, and the halves that are lost by halves."""
        self._rows_left[whole.part.index] = whole.rows
        self._losses[_key(whole)] = 0
        if whole.rows == 1:
            self._blame(whole._replace(is_whole=False), message, MAX_ATTEMPTS)
        else:
            self._waiting.extendleft(reversed(whole.halves()))

    def _blame(self, row: Assignment, message: str, n_losses: int) -> None:
        if n_losses >= MAX_ATTEMPTS + MAX_STEPS:
            raise EngineError(
                f"{row} ends its worker before any of its steps, last: {message}; to read it may need more memory "
                "than a worker has. What is done is kept: the same command goes on"
            )
        if self._blamed_in_a_row >= MAX_BLAMED_IN_A_ROW:
            raise EngineError(
                f"{MAX_BLAMED_IN_A_ROW} rows one after the other ended their worker, and none passed between them; "
                f"last {row}: {message}. Mend the function; what is done is kept: the same command goes on"
            )
        self._wait_again(row._replace(lost=message))


def _key(assignment: Assignment) -> tuple[int, int, int, bool]:
    return assignment.part.index, assignment.first_row, assignment.rows, assignment.is_whole
