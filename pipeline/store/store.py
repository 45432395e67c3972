"""A root URL and the few operations the project needs below it. Knows no record, no Parquet, no Ray."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, cast

from pipeline.errors import CorruptError, MissingError
from pipeline.records.digest import digest_bytes
from pipeline.store import create as create_only
from pipeline.store.backend import Backend, ObjectInfo, open_backend
from pipeline.store.guard import SLOWEST_BYTES_PER_S, Guard
from pipeline.store.location import check_key, check_prefix, parse_location
from pipeline.store.probe import probe_once
from pipeline.store.range_reader import RangeReader
from pipeline.store.retries import Retries, retry_corrupt

ENVIRONMENT_STORE = "ASSAY_STORE"
DEFAULT_STORE = ".assay"
_PARALLEL_READS = 16  # small objects at once: hides the latency of an object store


class Store:
    """A store of objects under a root URL. Thread-safe; pickles as its URL and options.

    Every operation has a deadline (`timeout_s`, longer for large transfers), retries passing faults, and raises the
    StoreErrors of `pipeline.errors` with the store, the key and what to do.
    """

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        options: Mapping[str, Any] | None = None,
        timeout_s: float = 60.0,
        backend: Backend | None = None,
        retries: Retries | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            url: a folder, or a URL of file, memory, s3, gs, az or abfs.
            options: for the fsspec client, such as `endpoint_url`; never shown.
            backend: another kind of store, whose faults are the errors of `pipeline.errors` already.
            retries: how passing faults are retried; within `timeout_s` unless given.
        """
        self._location = parse_location(url)
        self._options = dict(options or {})
        self._timeout_s = timeout_s
        self._retries = retries or Retries(timeout_s=timeout_s)
        # Half the time for one try, so that a call that hangs is tried once more.
        self._backend = backend or Guard(
            open_backend(self._location, self._options), self._location, self._options, timeout_s / 2
        )

    @property
    def url(self) -> str:
        """Absolute and normalised: `file:///folder`, `s3://bucket/folder`, `memory://name`."""
        return self._location.url

    @property
    def display(self) -> str:
        """For messages: a plain path where it is local."""
        return self._location.display

    @property
    def is_local(self) -> bool:
        """Whether the objects are files of this machine."""
        return self._location.scheme == "file"

    @property
    def is_memory(self) -> bool:
        """Whether the objects live in this process alone."""
        return self._location.scheme == "memory"

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of the fsspec client; may hold credentials."""
        return self._options

    def probe(self) -> None:
        """Refuse a store that overwrites what it was asked to create; asked once per process and store.

        Raises:
            UnsafeStoreError: it overwrote.
            DeniedError: it cannot be written, or not read back.
        """
        probe_once(self)

    def read(self, key: str, *, sha256: str | None = None) -> bytes:
        """The whole object; with `sha256`, checked against it.

        Raises:
            MissingError: no such object.
            CorruptError: the bytes have another digest, three times over.
        """
        if sha256 is None:
            return self._get(key)
        return retry_corrupt(lambda: self._read_checked(key, sha256))

    def read_each(self, keys: Iterable[str]) -> list[bytes | None]:
        """Many small objects, in order; None where there is none."""
        wanted = list(keys)
        if len(wanted) < 2 or self.is_memory:
            return [self._read_or_none(key) for key in wanted]
        with ThreadPoolExecutor(min(_PARALLEL_READS, len(wanted))) as pool:
            return list(pool.map(self._read_or_none, wanted))

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Up to `length` bytes from `start`; fewer only at the end of the object."""
        if start < 0 or length < 0:
            raise ValueError(f"a range starts at 0 or later and has a length of 0 or more, found {start}, {length}")
        if length == 0:
            return b""
        check_key(key)
        return self._retries.call(lambda: self._backend.get_range(key, start, length), key, extra_s=_seconds(length))

    def write(self, key: str, data: bytes) -> None:
        """Write an object whatever stands. Only for advisory objects: nothing that counts is ever overwritten."""
        check_key(key)
        self._retries.call(lambda: self._backend.put(key, data, durable=False), key)

    def put(self, key: str, data: bytes | Path) -> None:
        """Write an object that is named by its content; large ones may travel in several parts.

        Args:
            data: bytes, or a local file that nobody writes to any more: where the store is a folder beside it, both
                become one file under two names.
        """
        check_key(key)
        n_bytes = len(data) if isinstance(data, bytes) else data.stat().st_size
        self._retries.call(lambda: self._backend.put(key, data, durable=True), key, extra_s=2 * _seconds(n_bytes))

    def create(self, key: str, data: bytes) -> bytes:
        """Create an object unless one stands; return the bytes that stand (equal to `data`: mine)."""
        return create_only.create(self._backend, check_key(key), data, self._retries)

    def size(self, key: str) -> int | None:
        """Bytes of the object; None where there is none."""
        check_key(key)
        return self._retries.call(lambda: self._backend.size(key), key)

    def exists(self, key: str) -> bool:
        """Whether there is such an object."""
        return self.size(key) is not None

    def list_infos(self, prefix: str = "") -> list[ObjectInfo]:
        """All objects below the folder with size and time of their last change, sorted by key."""
        folder = check_prefix(prefix)
        return sorted(self._retries.call(lambda: self._backend.find(folder), folder))

    def list_leftovers(self, prefix: str = "") -> list[ObjectInfo]:
        """Temporary files below the folder that a writer may have left behind when it was killed."""
        folder = check_prefix(prefix)
        return sorted(self._retries.call(lambda: self._backend.find(folder, leftovers=True), folder))

    def list_folders(self, prefix: str = "") -> list[str]:
        """Names of the folders directly below the folder, sorted, without listing what is in them."""
        folder = check_prefix(prefix)
        return sorted(self._retries.call(lambda: self._backend.folders(folder), folder))

    def list(self, prefix: str = "") -> list[str]:
        """Keys of all objects below the folder, sorted; empty where nothing is."""
        return [info.key for info in self.list_infos(prefix)]

    def delete(self, key: str) -> None:
        """Remove an object; an absent one is fine."""
        check_key(key)
        self._retries.call(lambda: self._backend.delete(key), key)

    def open(self, key: str) -> BinaryIO:
        """A seekable reader; on an object store each read is a range with its own deadline and retries.

        Raises:
            MissingError: no such object.
        """
        path = self.local_path(key)
        if path is not None:
            if self.size(key) is None:
                raise MissingError(f"{self.display}/{key}: not found", key)
            return open(path, "rb")
        if self.is_memory:
            return io.BytesIO(self.read(key))
        size = self.size(key)
        if size is None:
            raise MissingError(f"{self.display}/{key}: not found", key)
        raw = RangeReader(lambda start, length: self.read_range(key, start, length), size, f"{self.display}/{key}")
        return cast(BinaryIO, io.BufferedReader(raw, buffer_size=1 << 20))

    def local_path(self, key: str) -> Path | None:
        """The file of the object where the store is local, else None."""
        return self._backend.local_path(check_key(key))

    def _get(self, key: str) -> bytes:
        check_key(key)
        return self._retries.call(lambda: self._backend.get(key), key)

    def _read_or_none(self, key: str) -> bytes | None:
        try:
            return self._get(key)
        except MissingError:
            return None

    def _read_checked(self, key: str, sha256: str) -> bytes:
        data = self._get(key)
        found = digest_bytes(data)
        if found != sha256:
            raise CorruptError(
                f"{self.display}/{key}: its SHA-256 is {found}, expected {sha256}; "
                "the object was damaged or replaced after it was written: restore it, or make it again",
                key,
            )
        return data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and (self.url, self._options) == (other.url, other._options)

    def __hash__(self) -> int:
        return hash(self.url)

    def __repr__(self) -> str:
        return f"Store({self.display!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.url, self._options, self._timeout_s)


def open_store(url: str | os.PathLike[str] | Store | None = None) -> Store:
    """The store itself, the store at a URL, or the default one: `$ASSAY_STORE`, else `.assay` in the working folder."""
    if isinstance(url, Store):
        return url
    return Store(url or os.environ.get(ENVIRONMENT_STORE) or DEFAULT_STORE)


def _unpickle(url: str, options: Mapping[str, Any], timeout_s: float) -> Store:
    return Store(url, options=options, timeout_s=timeout_s)


def _seconds(n_bytes: int) -> float:
    return n_bytes / SLOWEST_BYTES_PER_S
