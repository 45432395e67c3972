"""A time limit for one call of a sync function: an alarm in the main thread, elsewhere a thread that is given up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from pipeline.functions.failures import CallTimeoutError


class _AlarmError(BaseException):
    """Raised inside the user's code; no `except Exception` of theirs stops it."""


def call_within(call: Callable[[], Any], timeout_s: float) -> Any:
    """The result of a call.

    Raises:
        CallTimeoutError: it took longer than `timeout_s` seconds.
        BaseException: whatever the call raised.
    """
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        return _with_alarm(call, timeout_s)
    return _in_thread(call, timeout_s)


def _timed_out(timeout_s: float) -> CallTimeoutError:
    return CallTimeoutError(f"no result within {timeout_s:g} s (timeout_s)")


def _with_alarm(call: Callable[[], Any], timeout_s: float) -> Any:
    is_armed = True

    def ring(_signum: int, _frame: FrameType | None) -> None:
        if is_armed:
            raise _AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        # The alarm repeats, in case the first one is swallowed by a bare `except`.
        signal.setitimer(signal.ITIMER_REAL, timeout_s, 0.05)
        result = call()
        is_armed = False
        return result
    except _AlarmError:
        raise _timed_out(timeout_s) from None
    finally:
        is_armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _in_thread(call: Callable[[], Any], timeout_s: float) -> Any:
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((call(), None))
        except BaseException as error:  # noqa: BLE001  # carried over to the caller's thread
            outcome[:] = [None, error]

    worker = threading.Thread(target=run, daemon=True, name="assay-call")
    worker.start()
    worker.join(timeout_s)
    if not outcome:
        raise _timed_out(timeout_s)
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]
