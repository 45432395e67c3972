"""Create-only: the one primitive that commits stand on.

"Already exists" does not mean that somebody else won: a reply may be lost after the store applied the request, and a
client may have asked twice. So whatever is not a clear success is read back, and the bytes that stand decide.
"""

from __future__ import annotations

from typing import Protocol

from pipeline.errors import ExistsError, MissingError, RetryError
from pipeline.store.retries import Retries


class CreateBackend(Protocol):
    """What `create` needs of a store. Faults are the errors of `pipeline.errors`."""

    def put_if_absent(self, key: str, data: bytes) -> None:
        """One single PUT that succeeds only where no object of that name stands."""

    def get(self, key: str) -> bytes:
        """The whole object."""


def create(backend: CreateBackend, key: str, data: bytes, retries: Retries) -> bytes:
    """Create the object unless one stands; return the bytes that stand (equal to `data`: mine stands).

    Raises:
        DeniedError: no permission or no bucket: nothing was tried twice.
        UnavailableError: the store gave no clear answer within the deadline.
    """
    return retries.call(lambda: _create_once(backend, key, data), key)


def _create_once(backend: CreateBackend, key: str, data: bytes) -> bytes:
    try:
        backend.put_if_absent(key, data)
    except (ExistsError, RetryError) as unclear:
        return _read_back(backend, key, unclear)
    return data


def _read_back(backend: CreateBackend, key: str, unclear: Exception) -> bytes:
    """The bytes that stand; RetryError where none do, so that the same bytes are offered again."""
    try:
        return backend.get(key)
    except MissingError:
        if isinstance(unclear, RetryError):
            raise unclear from None
        raise RetryError(f"{unclear}, but nothing stands there", key) from None
