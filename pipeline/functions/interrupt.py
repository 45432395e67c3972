"""Tells a real Ctrl-C from a KeyboardInterrupt that the user's function raised by itself."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class InterruptWatch:
    """While it is open in the main thread, notes that SIGINT came, and lets the handler of before do its work."""

    def __init__(self) -> None:
        self._came = False
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if callable(self._before):
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self._came = True
        self._before(signum, frame)

    def is_real(self, error: BaseException) -> bool:
        """Whether this exception is a Ctrl-C."""
        return self._came and isinstance(error, KeyboardInterrupt)
