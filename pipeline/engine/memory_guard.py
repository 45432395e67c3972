"""A hard bound for one process: a thread that ends it when it holds more. For what nobody can know beforehand.

Not a limit of the kernel: under RLIMIT_AS and RLIMIT_DATA what Ray and Arrow merely reserve counts as used, an
allocation that fails inside them ends in an abort without a word, and the processes of a group have a limit each.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

POLL_S = 0.05  # a process that fills memory at 4 GiB/s is 200 MiB further on by then; one look costs 0.1 ms
EXIT_STATUS = 77
_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def start_memory_guard(
    most_bytes: int,
    tell: Callable[[str], None],
    *,
    poll_s: float = POLL_S,
    end: Callable[[int], object] = os._exit,
) -> threading.Event:
    """Watch this process and its children from a thread, and end this process when together they hold too much.

    Does nothing where there is no /proc, as on macOS.

    Args:
        most_bytes: of memory that is theirs alone: shared libraries and mapped files do not count.
        tell: called with the reason before the end; also written to stderr.
        poll_s: seconds between two looks.
        end: ends the process with a status.

    Returns:
        Set it to stop watching.
    """
    stopped = threading.Event()
    if (_PROC / "self" / "statm").exists():
        arguments = (most_bytes, tell, poll_s, end, stopped)
        threading.Thread(target=_watch, args=arguments, name="assay-memory", daemon=True).start()
    return stopped


def memory_in_use(pid: int | None = None) -> int:
    """Bytes of memory that a process and its descendants have for themselves; 0 for one that has ended."""
    process = _PROC / str(pid or os.getpid())
    try:
        _, resident, shared = map(int, (process / "statm").read_text().split()[:3])
        children = [child for file in process.glob("task/*/children") for child in file.read_text().split()]
    except (OSError, ValueError):  # ended while it was looked at
        return 0
    return (resident - shared) * _PAGE + sum(memory_in_use(int(child)) for child in children)


def _watch(
    most_bytes: int,
    tell: Callable[[str], None],
    poll_s: float,
    end: Callable[[int], object],
    stopped: threading.Event,
) -> None:
    while not stopped.wait(poll_s):
        found = memory_in_use()
        if found <= most_bytes:
            continue
        reason = (
            f"the worker held {found >> 20} MiB, and was ended at its bound of {most_bytes >> 20} MiB (memory_limit): "
            "a row or a function of yours needs more than that"
        )
        print(f"assay: {reason}", file=sys.stderr, flush=True)
        with suppress(Exception):  # whoever should hear it is gone: the process ends all the same
            tell(reason)
        end(EXIT_STATUS)
        return
