"""A backend behind our own deadline: every call returns in time, and every fault is one of our own errors."""

# ruff: noqa: D102 - the methods are told in `backend.Backend`
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pipeline.errors import RetryError
from pipeline.store.backend import Backend, ObjectInfo
from pipeline.store.faults import translate
from pipeline.store.location import Location, redact

T = TypeVar("T")
SLOWEST_BYTES_PER_S = 1 << 20
"""A transfer may take its call's deadline plus this much time for its bytes."""


class Guard:
    """Wraps a backend. Thread-safe."""

    def __init__(self, backend: Backend, location: Location, options: Mapping[str, Any], timeout_s: float) -> None:
        self._backend = backend
        self._location = location
        self._options = options
        self._timeout_s = timeout_s

    def get(self, key: str) -> bytes:
        return self._call(key, lambda: self._backend.get(key))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self._call(key, lambda: self._backend.get_range(key, start, length), length)

    def put_if_absent(self, key: str, data: bytes) -> None:
        self._call(key, lambda: self._backend.put_if_absent(key, data), len(data))

    def put(self, key: str, data: bytes | Path, *, durable: bool) -> None:
        n_bytes = len(data) if isinstance(data, bytes) else data.stat().st_size
        self._call(key, lambda: self._backend.put(key, data, durable=durable), n_bytes)

    def size(self, key: str) -> int | None:
        return self._call(key, lambda: self._backend.size(key))

    def find(self, prefix: str, *, leftovers: bool = False) -> list[ObjectInfo]:
        return self._call(prefix, lambda: self._backend.find(prefix, leftovers=leftovers))

    def folders(self, prefix: str) -> list[str]:
        return self._call(prefix, lambda: self._backend.folders(prefix))

    def delete(self, key: str) -> None:
        self._call(key, lambda: self._backend.delete(key))

    def local_path(self, key: str) -> Path | None:
        return self._backend.local_path(key)

    def _call(self, key: str, action: Callable[[], T], n_bytes: int = 0) -> T:
        where = f"{self._location.display}/{key}" if key else self._location.display
        try:
            return within(self._timeout_s + n_bytes / SLOWEST_BYTES_PER_S, action, where)
        except Exception as error:
            ours = translate(error, where, key)
            if ours is error:
                raise
            ours.args = (redact(str(ours), self._options),)
            raise ours from None


def within(timeout_s: float, action: Callable[[], T], where: str) -> T:
    """The result of `action`, run in a thread of its own that is abandoned at the deadline.

    Raises:
        RetryError: no answer in time. What was asked may still happen later.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(action())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name=f"assay-store {where}")
    thread.start()
    thread.join(timeout_s)
    if errors:
        raise errors[0]
    if not results:
        raise RetryError(f"{where}: no answer within {timeout_s:.0f} s")
    return results[0]
