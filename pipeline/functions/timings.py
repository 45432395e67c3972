"""How often a function was called, and where the time went: waiting for permits apart from the calls themselves."""

from __future__ import annotations

import threading
from typing import NamedTuple


class CallTimings(NamedTuple):
    """Sums over the calls of one function in this process. Seconds add up over calls that ran at the same time."""

    calls: int = 0
    """Tries included."""
    retries: int = 0
    """Of the calls, those that were made again."""
    refusals: int = 0
    """Of the calls, those that the endpoint refused because there were too many (status 429)."""
    waited_s: float = 0.0
    """Waiting for permits of the rate limit."""
    called_s: float = 0.0
    """In the function itself; from the first row of a part to its last, where nothing limits or repeats calls."""


class CallMeter:
    """Adds them up. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums = CallTimings()

    @property
    def timings(self) -> CallTimings:
        """The sums until now."""
        return self._sums

    def add(
        self, *, calls: int = 0, retries: int = 0, refusals: int = 0, waited_s: float = 0, called_s: float = 0
    ) -> None:
        """Add to the sums."""
        with self._lock:
            sums = self._sums
            self._sums = CallTimings(
                sums.calls + calls,
                sums.retries + retries,
                sums.refusals + refusals,
                sums.waited_s + waited_s,
                sums.called_s + called_s,
            )
