"""Objects on S3, GCS, Azure and in memory, over fsspec: caches off, bounded client retries, one PUT for a create."""

# ruff: noqa: D102 - the methods are told in `backend.Backend`
from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec

from pipeline.errors import DeniedError, InputError
from pipeline.store.backend import ObjectInfo
from pipeline.store.faults import NO_BUCKET, http_status, is_missing_bucket
from pipeline.store.location import Location, redact, split_url, without_credentials

_CLIENTS = {
    "s3": '"assay[s3]"',
    "gs": '"assay[gcs]"',
    "az": '"assay[azure]"',
    "abfs": '"assay[azure]"',
    "http": "aiohttp",
    "https": "aiohttp",
    "sftp": "paramiko",
}
_ONE_PUT = 2**31
"""Bytes below which a client must send one PUT: conditional multi-part uploads are not exclusive on every server."""
_S3_CLIENT = {"connect_timeout": 5, "read_timeout": 20, "retries": {"max_attempts": 2, "mode": "standard"}}
"""Seconds; short, because our own deadline and retries stand above the client's."""


class ObjectBackend:
    """A bucket or container, and a folder in it."""

    def __init__(self, location: Location, options: Mapping[str, Any]) -> None:
        self._location = location
        self._options = dict(options)
        self._opening = threading.Lock()
        self._opened: tuple[int, Any] | None = None

    def get(self, key: str) -> bytes:
        return bytes(self._fs.cat_file(self._path(key), **self._whole))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        try:
            return bytes(self._fs.cat_file(self._path(key), start=start, end=start + length))
        except Exception as error:
            if http_status(error) == 416:  # starts beyond the end
                return b""
            raise

    def put_if_absent(self, key: str, data: bytes) -> None:
        one_put = {"chunksize": _ONE_PUT} if self._location.scheme in ("s3", "gs") else {}
        with self._naming_the_bucket(key):
            self._fs.pipe_file(self._path(key), data, mode="create", **one_put)

    def put(self, key: str, data: bytes | Path, *, durable: bool) -> None:  # noqa: ARG002 - object stores always are
        with self._naming_the_bucket(key):
            if isinstance(data, bytes):
                self._fs.pipe_file(self._path(key), data)
            else:
                self._fs.put_file(str(data), self._path(key))

    def size(self, key: str) -> int | None:
        try:
            info = self._fs.info(self._path(key))
        except FileNotFoundError as error:
            if is_missing_bucket(error):
                raise
            return None
        return int(info["size"]) if info["type"] == "file" else None

    def find(self, prefix: str, *, leftovers: bool = False) -> list[ObjectInfo]:
        if leftovers:  # unfinished uploads are not objects here
            return []
        base = self._path(prefix).strip("/") + "/"
        try:
            found = self._fs.find(base.rstrip("/"), detail=True)
        except FileNotFoundError as error:
            if is_missing_bucket(error):
                raise
            return []
        root = self._path("").strip("/")
        return [
            ObjectInfo(name.strip("/")[len(root) :].lstrip("/"), int(info["size"] or 0), _modified(info))
            for name, info in found.items()
            if name.strip("/").startswith(base.lstrip("/")) and info["type"] == "file" and not name.endswith("/")
        ]

    def folders(self, prefix: str) -> list[str]:
        try:
            entries = self._fs.ls(self._path(prefix), detail=True)
        except FileNotFoundError:
            return []
        return [info["name"].rstrip("/").rsplit("/", 1)[-1] for info in entries if info["type"] == "directory"]

    def delete(self, key: str) -> None:
        try:
            self._fs.rm_file(self._path(key))
        except FileNotFoundError:
            return

    def local_path(self, key: str) -> Path | None:  # noqa: ARG002 - the protocol's signature
        return None

    @contextlib.contextmanager
    def _naming_the_bucket(self, key: str) -> Iterator[None]:
        """Nothing but the bucket can be missing where an object is written; gcsfs does not say so."""
        try:
            yield
        except FileNotFoundError:
            raise DeniedError(f"{self._location.display}/{key}: {NO_BUCKET}", key) from None

    @property
    def _whole(self) -> dict[str, Any]:
        # s3fs would ask for the size first and then for ranges, which carry no checksum.
        return {"max_concurrency": 1} if self._location.scheme == "s3" else {}

    def _path(self, key: str) -> str:
        return "/".join(piece for piece in (self._location.path, key) if piece)

    @property
    def _fs(self) -> Any:
        # fsspec's loop thread does not survive a fork, so each process opens its own client.
        with self._opening:
            if self._opened is None or self._opened[0] != os.getpid():
                self._opened = (os.getpid(), open_filesystem(self._location.url, self._options)[0])
            return self._opened[1]


class MemoryBackend(ObjectBackend):
    """fsspec's memory files: they belong to this process alone."""

    _creating = threading.Lock()

    def put_if_absent(self, key: str, data: bytes) -> None:
        with self._creating:
            if self._fs.exists(self._path(key)):
                raise FileExistsError(key)
            self._fs.pipe_file(self._path(key), data)

    def put(self, key: str, data: bytes | Path, *, durable: bool) -> None:
        whole = data if isinstance(data, bytes) else data.read_bytes()
        with self._creating:
            super().put(key, whole, durable=durable)


def open_filesystem(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """An fsspec file system of our own, without listing and instance caches, and the path of the URL in it.

    Raises:
        InputError: the client library is not installed, or an option is not one of its own.
    """
    scheme = split_url(url)[0]
    try:
        fs, path = fsspec.core.url_to_fs(url, **_client_settings(scheme, options))
    except ImportError:
        client = _CLIENTS.get(scheme)
        fix = f"pip install {client}" if client else f"install the fsspec client for {scheme}://"
        raise InputError(f"{scheme}:// needs a client that is not installed; {fix}") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{without_credentials(url)}: cannot be opened: {redact(str(error), options)}") from None
    if scheme == "s3":
        fs.retries = 2  # s3fs would try five times around botocore's own tries
    return fs, str(path)


def _client_settings(scheme: str, options: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {"skip_instance_cache": True}
    if scheme in ("s3", "gs", "az", "abfs"):
        settings["use_listings_cache"] = False
    settings.update(options)
    if scheme == "s3":
        settings["config_kwargs"] = {**_S3_CLIENT, **settings.get("config_kwargs", {})}
    return settings


def _modified(info: Mapping[str, Any]) -> float:
    """Unix seconds of the last change; now where a client does not tell, so that nothing is taken for old."""
    for name in ("LastModified", "last_modified", "mtime", "updated", "created"):
        value = info.get(name)
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
    return datetime.now(UTC).timestamp()
