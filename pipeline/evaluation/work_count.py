"""How much of the parts in work is done, while none of their receipts stands: for progress, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable


class WorkCount:
    """Counts steps of rows: the call of each function for a row is one, its evaluation the last. Safe for threads.

    Args:
        n_functions: that are called for a row.
        calls: how many calls have ended, of all functions.
    """

    def __init__(self, n_functions: int, calls: Callable[[], int]) -> None:
        self._steps = n_functions + 1
        self._calls = calls
        self._lock = threading.Lock()
        self._n_others = self._n_settled = 0

    def add_known(self, calls: int) -> None:
        """So many calls need not be made: their rows were kept."""
        with self._lock:
            self._n_others += calls

    def add_evaluated(self, rows: int, not_scored: int) -> None:
        """Rows are evaluated; some of them had no output, so that no function scored them."""
        with self._lock:
            self._n_others += rows + not_scored * max(0, self._steps - 2)

    def end_part(self, rows: int) -> None:
        """A part of so many rows is done: its receipt tells of them."""
        with self._lock:
            self._n_settled += rows * self._steps

    @property
    def steps(self) -> int:
        """A number that grows while anything gets done."""
        return self._calls() + self._n_others

    @property
    def rows_in_work(self) -> int:
        """Rows that are done of parts that are not, about: a row of which half the steps are done is half a row."""
        return max(0, self.steps - self._n_settled) // self._steps
