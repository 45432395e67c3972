"""Matches texts against a pattern, under a limit of CPU time. Needs the standard library alone.

Run as a program it is a child process that answers requests on its pipes and that the kernel ends when one takes too
long: no pattern can hold on to it, not even where `re` does not look for signals.
"""

from __future__ import annotations

import pickle
import re
import signal
import sys
from collections.abc import Sequence
from typing import NamedTuple


class Request(NamedTuple):
    """What to match, and how long that may take."""

    pattern: str
    flags: int
    full_match: bool
    texts: Sequence[str]
    limit_s: float


def match_texts(request: Request) -> list[list[str | None]]:
    """The first match in each text: its text, then the texts of the named groups in order of name; None: no match."""
    compiled = re.compile(request.pattern, request.flags)
    match = compiled.fullmatch if request.full_match else compiled.search
    shown: list[int | str] = [0, *sorted(compiled.groupindex)]
    if len(shown) == 1:
        return [[found[0] if (found := match(text)) else None for text in request.texts]]
    matches = [match(text) for text in request.texts]
    return [[found[group] if found else None for found in matches] for group in shown]


GIVEN_UP = (MemoryError, RecursionError, SystemError)
"""What `re` raises over a text. SystemError is a defect of its own, seen in 3.11 with groups in possessive repeats."""


def why_given_up(error: BaseException) -> str:
    """The error of the row."""
    reason = str(error) if isinstance(error, SystemError) else "the pattern needs too much memory on this text"
    return f"{type(error).__name__}: {reason}"


def _serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes the pipe
    # What the parent did with the signal of the limit is inherited; here it must end the process.
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGVTALRM])
    while True:
        try:
            # Tuples: the parent knows Request by another module name.
            request = Request(*pickle.load(sys.stdin.buffer))
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_VIRTUAL, request.limit_s)
        try:
            answer: list[list[str | None]] | str = match_texts(request)
        except GIVEN_UP as error:
            answer = why_given_up(error)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        pickle.dump(answer, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
