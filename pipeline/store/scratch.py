"""Temporary folders that a killed process does not leave for ever: the next one removes them."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = ".lock"  # held while the process lives, however it ends
UNLOCKED_S = 3600.0  # a folder without a lock is about to get one, or its process was killed before it could

_sweeping = threading.Lock()
_swept: set[tuple[str, str]] = set()


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """An empty folder, removed at the end of the block. The first of a process removes those of killed ones.

    Args:
        purpose: a word for its name.
    """
    prefix = _prefix(purpose)
    with _sweeping:
        place = tempfile.gettempdir()
        if (place, prefix) not in _swept:
            _swept.add((place, prefix))
            sweep_scratch(purpose, apply=True)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        fresh = Path(name, f"{LOCK}-new")
        lock = os.open(fresh, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another process that removes what is not locked sees the file when it is.
            fresh.rename(Path(name, LOCK))
            yield Path(name)
        finally:
            os.close(lock)


def sweep_scratch(purpose: str, *, apply: bool) -> list[Path]:
    """The folders that killed processes left, removed where `apply` is set."""
    found = []
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{_prefix(purpose)}*")):
        with _taken(folder) as is_left:
            if is_left:
                found.append(folder)
                if apply:
                    shutil.rmtree(folder, ignore_errors=True)
    return found


def _prefix(purpose: str) -> str:
    return f"assay-{purpose}-"


@contextmanager
def _taken(folder: Path) -> Iterator[bool]:
    """Whether nobody has a folder any more; it is locked meanwhile."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield _is_old(folder)
        return
    except OSError:  # somebody else's
        yield False
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # its process lives
        os.close(lock)
        yield False
        return
    try:
        yield True
    finally:
        os.close(lock)


def _is_old(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > UNLOCKED_S
    except OSError:  # removed by its process
        return False
