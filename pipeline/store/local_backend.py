"""Objects as local files: an object appears whole or not at all, and is created by exactly one writer.

fsspec's `mode="create"` is exists() plus open("wb") and lets several writers win; `open("xb")` shows torn files after
a kill. So: a temporary file in the same folder, fsync, `os.link` (exclusive) or `os.replace`, fsync of the folder.
"""

# ruff: noqa: D102 - the methods are told in `backend.Backend`
from __future__ import annotations

import errno
import os
import shutil
import uuid
from pathlib import Path
from typing import IO

from pipeline.errors import RetryError, UnsafeStoreError
from pipeline.store.backend import ObjectInfo

_TEMP_PREFIX = ".assay-"
_TEMP_SUFFIX = ".tmp"
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})


class LocalBackend:
    """A folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, key: str) -> bytes:
        return self._path(key).read_bytes()

    def get_range(self, key: str, start: int, length: int) -> bytes:
        with open(self._path(key), "rb") as file:
            file.seek(start)
            return file.read(length)

    def put_if_absent(self, key: str, data: bytes) -> None:
        path = self._path(key)
        temp = self._write_temp(path, data, durable=True)
        try:
            _link(temp, path)
        finally:
            temp.unlink(missing_ok=True)
        _sync_folder(path.parent)

    def put(self, key: str, data: bytes | Path, *, durable: bool) -> None:
        path = self._path(key)
        temp = self._write_temp(path, data, durable=durable)
        try:
            os.replace(temp, path)
        except FileNotFoundError:
            raise RetryError(f"{path}: its temporary file was removed while it was written") from None
        finally:
            temp.unlink(missing_ok=True)  # it is still there where both were one file, put a second time
        if durable:
            _sync_folder(path.parent)

    def size(self, key: str) -> int | None:
        path = self._path(key)
        return path.stat().st_size if path.is_file() else None

    def find(self, prefix: str, *, leftovers: bool = False) -> list[ObjectInfo]:
        found: list[ObjectInfo] = []
        for folder, _, names in os.walk(self._path(prefix)):
            for name in names:
                if _is_temp(name) is leftovers:
                    found += self._info(Path(folder, name))
        return found

    def folders(self, prefix: str) -> list[str]:
        try:
            with os.scandir(self._path(prefix)) as entries:
                return [entry.name for entry in entries if entry.is_dir()]
        except FileNotFoundError:
            return []

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def local_path(self, key: str) -> Path | None:
        return self._path(key)

    def _path(self, key: str) -> Path:
        return self._root / key if key else self._root

    def _info(self, path: Path) -> list[ObjectInfo]:
        try:
            stat = path.stat()
        except FileNotFoundError:  # removed since the folder was read
            return []
        return [ObjectInfo(path.relative_to(self._root).as_posix(), stat.st_size, stat.st_mtime)]

    def _write_temp(self, path: Path, data: bytes | Path, *, durable: bool) -> Path:
        _make_folder(path.parent)
        temp = path.parent / f"{_TEMP_PREFIX}{uuid.uuid4().hex}{_TEMP_SUFFIX}"
        try:
            with _linked(data, temp) or _open_new(temp) as file:
                if file.writable():
                    _fill(file, data)
                    file.flush()
                if durable:
                    os.fsync(file.fileno())
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        return temp


def _fill(file: IO[bytes], data: bytes | Path) -> None:
    if isinstance(data, bytes):
        file.write(data)
        return
    with open(data, "rb") as source:
        shutil.copyfileobj(source, file, 1 << 20)


def _linked(data: bytes | Path, temp: Path) -> IO[bytes] | None:
    """A local file under a second name, which costs nothing; None where that cannot be, as across file systems."""
    if isinstance(data, bytes):
        return None
    try:
        os.link(data, temp)
        os.utime(temp)  # what nobody names yet is judged by its age, which begins now
    except OSError:
        return None
    return open(temp, "rb")


def _open_new(temp: Path) -> IO[bytes]:
    try:
        return open(temp, "xb")
    except FileNotFoundError:
        raise RetryError(f"{temp.parent}: the folder was removed while an object was written to it") from None


def _is_temp(name: str) -> bool:
    return name.startswith(_TEMP_PREFIX) and name.endswith(_TEMP_SUFFIX)


def _link(temp: Path, path: Path) -> None:
    try:
        os.link(temp, path)
    except FileExistsError:
        raise
    except FileNotFoundError:
        raise RetryError(f"{path}: its temporary file was removed while it was written") from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        raise UnsafeStoreError(
            f"{path.parent}: this file system has no hard links, so a file cannot be created by exactly one writer; "
            "use a folder on another file system as the store"
        ) from None


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
