"""Ctrl-C and SIGTERM: both interrupt a command, before, in and after its work. Imports nothing that takes long."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130  # stopped by the user, and resumable
SIGNALS = (signal.SIGINT, signal.SIGTERM)  # a terminal's Ctrl-C; what schedulers and `kill` send before they kill
RETRY_S = 0.01  # after a signal that could not interrupt; what had cut in is over by then
STOPPING = "stopping: rows in work are finished or given up, finished parts are kept; Ctrl-C again kills"

Handler = Callable[[int, FrameType | None], object]


def _ignore_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def interruptible() -> Iterator[None]:
    """While the block runs, both signals raise KeyboardInterrupt, as Python lets Ctrl-C do."""
    with _handled_by(signal.default_int_handler):
        yield


@contextmanager
def ctrl_c(first: Callable[[], None], second: Callable[[], None]) -> Iterator[None]:
    """While the block runs, the first signal says that the run stops and calls `first`; later ones call `second`.

    One that raised KeyboardInterrupt does not count: where it reached nobody, it is sent again.
    """
    pressed = 0
    is_told = False

    def on_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
        nonlocal pressed, is_told
        pressed += 1
        if not is_told:
            is_told = True
            # Not print: the handler may have cut into one, and buffers refuse to be entered twice.
            os.write(sys.stderr.fileno(), f"assay: {STOPPING}\n".encode())
        try:
            (first if pressed == 1 else second)()
        except KeyboardInterrupt:
            pressed -= 1
            raise

    with _handled_by(on_signal):
        yield


def hear_nothing_at_the_very_end() -> None:
    """Called before anything else is: what is registered first is carried out last."""
    atexit.register(_ignore_signals)


def leave_quietly(status: int) -> None:
    """From here to the end of the process a signal ends it at once: all is told, and only Ray is shut down yet.

    Its processes go with this one; its folder is swept by the next start. When the interpreter takes itself down,
    signals are not heard any more: Python would put back the system's handlers, which end it with another status.
    So would a KeyboardInterrupt that had come in an `exec` (an import of dataclasses has such): Python notes it for its
    end, whoever caught it, and forgets it at the next one.
    """
    exec("")

    def leave(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the signature of a handler
        os._exit(status)

    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, leave)


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _no_interrupt_lost():
        before = {number: signal.signal(number, handler) for number in SIGNALS}
        try:
            yield
        finally:
            for number, earlier in before.items():
                signal.signal(number, earlier)


@contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """While the block runs, a KeyboardInterrupt that Python could not pass on is tried again.

    A handler runs wherever the main thread is. In callbacks of weak references and in finalizers (an import has such)
    Python prints what is raised, and goes on as if nothing had come.
    """
    earlier = sys.unraisablehook

    def on_unraisable(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            # Not threading.Thread: it takes locks, and the callback may have cut into one that holds them.
            _thread.start_new_thread(_interrupt_again, ())
        else:
            earlier(lost)

    sys.unraisablehook = on_unraisable
    try:
        yield
    finally:
        sys.unraisablehook = earlier


def _interrupt_again() -> None:
    time.sleep(RETRY_S)
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGINT)
