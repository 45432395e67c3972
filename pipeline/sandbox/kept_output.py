"""Output of a command, of which only so much is kept: what it began with, and what it ended with."""

from __future__ import annotations

from collections import deque


class KeptOutput:
    """Takes any amount, and holds at most `max_bytes`, a quarter of them from the beginning."""

    def __init__(self, max_bytes: int) -> None:
        self._most_head = max_bytes // 4
        self._most_tail = max_bytes - self._most_head
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.n_bytes = 0
        """All that came."""

    @property
    def is_cut(self) -> bool:
        """Whether bytes were thrown away."""
        return self.n_bytes > self._most_head + self._most_tail

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.n_bytes += len(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        rest = data[room:]
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._most_tail:
            self._tail_bytes -= len(self._tail.popleft())

    def value(self) -> bytes:
        """What is kept, with a line that tells how much is missing between the two pieces."""
        tail = b"".join(self._tail)
        if not self.is_cut:
            return bytes(self._head) + tail
        left_out = self.n_bytes - self._most_head - self._most_tail
        kept = tail[len(tail) - self._most_tail :]
        return bytes(self._head) + f"\n[... {left_out} bytes left out ...]\n".encode() + kept
