"""A sign that rows get finished: two numbers under a key of the cluster, put there by a worker, read by the driver.

Advisory: without it a part is judged by the time since it was handed over. It needs no process of its own, and a
worker writes nothing while its parts take less than `PULSE_S`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from pipeline.engine.work import PartWorker

PULSE_S = 2.0
READ_TIMEOUT_S = 1.0  # a cluster whose head is busy or gone must not hold up the driver


class Pulse:
    """The worker's side: a thread that writes the numbers down when they have changed."""

    def __init__(self, key: bytes, worker: PartWorker) -> None:
        self._key = key
        self._worker = worker
        self._closed = threading.Event()
        threading.Thread(target=self._beat, name="assay-pulse", daemon=True).start()

    def close(self) -> None:
        """Write no more."""
        self._closed.set()

    def _beat(self) -> None:
        from ray.experimental.internal_kv import _internal_kv_put

        written = self._now()
        while not self._closed.wait(PULSE_S):
            now = self._now()
            if now == written:
                continue
            try:
                _internal_kv_put(self._key, now, overwrite=True)
                written = now
            except Exception:  # noqa: BLE001 - advisory, and Ray's errors here are of no one class
                continue

    def _now(self) -> bytes:
        return b"%d %d" % (self._worker.rows_finished(), self._worker.rows_in_work())


def rows_in_work(pulse: bytes) -> int:
    """Rows that are done of the worker's parts that are not, as it wrote them down."""
    return int(pulse.split()[1]) if pulse else 0


def leave_last_words(key: bytes, text: str) -> None:
    """Say why a worker ends itself, for `last_words`."""
    from ray.experimental.internal_kv import _internal_kv_put

    _internal_kv_put(_last_words_key(key), text.encode(), overwrite=True)


def last_words(key: bytes) -> str | None:
    """Why the worker of this pulse ended itself; None where it did not say. They are told once."""
    words_key = _last_words_key(key)
    found = read_pulses([words_key]).get(words_key)
    if found is None:
        return None
    clear_pulses([words_key])
    return found.decode()


def _last_words_key(key: bytes) -> bytes:
    return key + b"/last-words"


def read_pulses(keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """The numbers that are there. Nothing where the cluster does not answer."""
    from ray._private.worker import global_worker
    from ray.experimental.internal_kv import _internal_kv_get

    try:
        client = getattr(global_worker, "gcs_client", None)
        if client is not None:
            return dict(client.internal_kv_multi_get(list(keys), None, READ_TIMEOUT_S))
        found = {key: _internal_kv_get(key) for key in keys}
        return {key: value for key, value in found.items() if value is not None}
    except Exception:  # noqa: BLE001 - advisory, and Ray's errors here are of no one class
        return {}


def clear_pulses(keys: Sequence[bytes]) -> None:
    """Remove the numbers of a run that has ended."""
    from ray.experimental.internal_kv import _internal_kv_del

    try:
        for key in keys:
            _internal_kv_del(key)
    except Exception:  # noqa: BLE001 - the cluster is gone, and the numbers with it
        return
