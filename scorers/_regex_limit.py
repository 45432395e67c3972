"""Runs a match under a limit of CPU time: here where a signal can stop it, else in a child process.

The limit counts CPU time, not time on the clock, so that a busy machine changes no result.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from types import FrameType

from scorers import _regex_child
from scorers._regex_child import GIVEN_UP, Request, match_texts, why_given_up

LONGEST_HERE = 100_000
"""Characters. `re` looks for signals every 4,096 steps, and a step may read the whole text: a limit of 0.3 s ended
after 0.36 s at 100,000 characters, after 3.5 s at 1,000,000."""

_REPEAT_S = 0.1  # the alarm rings again in case its exception was swallowed, as in a destructor

Answer = list[list[str | None]]


class TooSlowError(Exception):
    """The match took longer than its limit."""


class TooLargeError(Exception):
    """The match needed too much memory, or `re` failed on it."""


def match_within(request: Request) -> Answer:
    """`match_texts`, or TooSlowError, or TooLargeError.

    A signal stops a match in the main thread of a process. Elsewhere, and for long texts, a child process is asked.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or max(map(len, request.texts), default=0) > LONGEST_HERE:
        return _child.ask(request)
    try:
        return _match_here(request)
    except GIVEN_UP as error:
        raise TooLargeError(why_given_up(error)) from None


def _match_here(request: Request) -> Answer:
    armed = True

    def expire(_signal: int, _frame: FrameType | None) -> None:
        if armed:
            raise TooSlowError

    handler = signal.signal(signal.SIGVTALRM, expire)
    timer = signal.setitimer(signal.ITIMER_VIRTUAL, request.limit_s, _REPEAT_S)
    try:
        try:
            return match_texts(request)
        finally:
            armed = False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL if handler is None else handler)
        if timer[0]:
            signal.setitimer(signal.ITIMER_VIRTUAL, *timer)


class _Child:
    """The child process of this process: started when first asked, again after it was ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, request: Request) -> Answer:
        with self._lock:
            try:
                answer = self._exchange(request)
            except BaseException:
                self._end()  # a request that was not answered: what the pipes hold is no longer known
                raise
        if isinstance(answer, str):
            raise TooLargeError(answer)
        return answer

    def close(self) -> None:
        with self._lock:
            self._end()

    def _exchange(self, request: Request) -> Answer | str:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(tuple(request), process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            answer: Answer | str = pickle.load(process.stdout)
            return answer
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            status = process.wait()
            if status == -signal.SIGVTALRM:
                raise TooSlowError from None
            raise TooLargeError(f"the process that matches patterns ended with status {status} on this text") from None

    def _running(self) -> subprocess.Popen[bytes]:
        # After a fork the pipes belong to the parent's conversation.
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is None:
            return self._process
        self._end()
        # By its path: neither this package nor the user's main module is imported there.
        command = [sys.executable, "-I", "-S", _regex_child.__file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._owner = os.getpid()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not sent yet cannot be sent any more
                if pipe is not None:
                    pipe.close()
        process.wait()


_child = _Child()
atexit.register(_child.close)
