"""Finds an agent that goes round in a circle."""

from __future__ import annotations

from collections import Counter, deque

WINDOW, TOO_OFTEN, FEW = 5, 3, 2


class Repeats:
    """The last calls of a session."""

    def __init__(self) -> None:
        self._calls: deque[str] = deque(maxlen=WINDOW)

    def add(self, tool: str, arguments: str) -> bool:
        """Remember a call; whether the agent repeats itself: one call three times, at most two different, of five."""
        self._calls.append(f"{tool}\0{arguments}")
        counts = Counter(self._calls)
        return max(counts.values()) >= TOO_OFTEN and len(counts) <= FEW
