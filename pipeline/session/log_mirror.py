"""Copies of a log while it is written, for a store that is elsewhere: a killed session leaves the last one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store import Store

EVERY_S = 10.0


@contextmanager
def mirrored_log(store: Store, key: str, path: Path, every_s: float = EVERY_S) -> Iterator[None]:
    """Copy the whole lines of a file into a store from time to time, and all of it when the block ends.

    A copy that fails is tried again with the next one; only the last one raises.
    """
    done = threading.Event()

    def copy() -> None:
        n_sent = 0
        while not done.wait(every_s):
            data = _whole_lines(path)
            if len(data) > n_sent:
                with suppress(StoreError):
                    store.put(key, data)
                    n_sent = len(data)

    copying = threading.Thread(target=copy, name="log-mirror", daemon=True)
    copying.start()
    try:
        yield
    finally:
        done.set()
        copying.join()
        if path.exists():
            store.put(key, path)


def _whole_lines(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError:
        return b""
    return data[: data.rfind(b"\n") + 1]
