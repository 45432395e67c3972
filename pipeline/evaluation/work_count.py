"""How much of the parts in work is done, while none of their receipts stands: for progress, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable


class WorkCount:
    """Counts what a row costs: the calls of functions where there are any, else that it is scored. Safe for threads.

    Args:
        n_functions: that are called for a row.
        calls: how many calls have ended, of all functions.
    """

    def __init__(self, n_functions: int, calls: Callable[[], int]) -> None:
        self._n_functions = n_functions
        self._calls = calls
        self._lock = threading.Lock()
        self._n_known = self._n_evaluated = self._n_not_called = self._n_settled = 0

    def add_known(self, calls: int) -> None:
        """So many calls need not be made: their rows were kept."""
        with self._lock:
            self._n_known += calls

    def add_evaluated(self, rows: int, not_scored: int) -> None:
        """Rows are evaluated; some of them had no output, so that only the task was called for them."""
        with self._lock:
            self._n_evaluated += rows
            self._n_not_called += not_scored * max(0, self._n_functions - 1)

    def end_part(self, rows: int) -> None:
        """A part of so many rows is done: its receipt tells of them."""
        with self._lock:
            self._n_settled += rows

    @property
    def steps(self) -> int:
        """A number that grows while anything gets done."""
        return self._calls() + self._n_known + self._n_evaluated

    @property
    def rows_in_work(self) -> int:
        """Rows that are done of parts that are not, about: a row of which half the calls are made is half a row."""
        n_functions = self._n_functions
        if not n_functions:
            return max(0, self._n_evaluated - self._n_settled)
        calls = self._calls() + self._n_known + self._n_not_called
        return max(0, calls - self._n_settled * n_functions) // n_functions
