"""The probe: does a store keep its promise to create only what is absent?

Some S3 look-alikes accept the condition and overwrite all the same.
"""

from __future__ import annotations

import os
import threading
import uuid
from typing import TYPE_CHECKING

from pipeline.errors import UnsafeStoreError

if TYPE_CHECKING:
    from pipeline.store.store import Store

PROBE_PREFIX = ".probe-"
_probed: set[tuple[int, str]] = set()
_probing = threading.Lock()


def probe_once(store: Store) -> None:
    """Probe a store unless this process has done so."""
    mark = (os.getpid(), store.url)
    with _probing:
        if mark in _probed:
            return
        probe(store)
        _probed.add(mark)


def probe(store: Store) -> None:
    """Create an object twice with different bytes; the first must stand. The object is removed again.

    Raises:
        UnsafeStoreError: the second stands.
        DeniedError: it cannot be written, or not read back.
    """
    key = PROBE_PREFIX + uuid.uuid4().hex
    first, second = b"first", b"second"
    try:
        stands = store.create(key, first)
        answer = store.create(key, second)
        if (stands, answer, store.read(key)) != (first, first, first):
            raise UnsafeStoreError(
                f"{store.display}: this store overwrites an object that it was asked to create only if absent, "
                "so two writers could both believe that their result stands; use a store that honours "
                "If-None-Match (S3, GCS, Azure, SeaweedFS, a local folder)",
                key,
            )
    finally:
        store.delete(key)
