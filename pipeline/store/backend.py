"""What a kind of store must be able to do. The backends raise their libraries' errors; `guard.py` makes them ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pipeline.store.location import Location


class ObjectInfo(NamedTuple):
    """One object of a listing."""

    key: str
    bytes: int
    modified: float
    """Unix seconds."""


class Backend(Protocol):
    """One kind of store. Keys have been checked; `prefix` is a folder without a final slash, "" for all."""

    def get(self, key: str) -> bytes:
        """The whole object."""

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Up to `length` bytes from `start`; fewer only at the end."""

    def put_if_absent(self, key: str, data: bytes) -> None:
        """Create the object, all of it or nothing, unless one stands (FileExistsError or the like)."""

    def put(self, key: str, data: bytes | Path, *, durable: bool) -> None:
        """Write the object, all of it or nothing, whatever stands. A file is written to by nobody any more."""

    def size(self, key: str) -> int | None:
        """Bytes; None where there is no object."""

    def find(self, prefix: str, *, leftovers: bool = False) -> list[ObjectInfo]:
        """All objects below the folder, in any order; or only temporary files that writers left behind."""

    def folders(self, prefix: str) -> list[str]:
        """Names of the folders directly below the folder."""

    def delete(self, key: str) -> None:
        """Remove the object; an absent one is fine."""

    def local_path(self, key: str) -> Path | None:
        """The file on this machine, where there is one."""


def open_backend(location: Location, options: Mapping[str, Any]) -> Backend:
    """The backend of a location."""
    if location.scheme == "file":
        from pipeline.store.local_backend import LocalBackend

        return LocalBackend(Path(location.path))
    from pipeline.store.object_backend import MemoryBackend, ObjectBackend

    return MemoryBackend(location, options) if location.scheme == "memory" else ObjectBackend(location, options)
