"""Inputs of the user's, wherever they are: any fsspec URL or local path can be read."""

from __future__ import annotations

import glob
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from pipeline.errors import InputError, MissingError
from pipeline.store.faults import translate
from pipeline.store.guard import SLOWEST_BYTES_PER_S, within
from pipeline.store.location import split_url, without_credentials
from pipeline.store.object_backend import open_filesystem
from pipeline.store.range_reader import RangeReader
from pipeline.store.retries import Retries

T = TypeVar("T")
_TIMEOUT_S = 60.0
_GLOB_CHARACTERS = frozenset("*?[")


def open_input(url: str | os.PathLike[str]) -> BinaryIO:
    """A seekable reader of a file or URL; the caller closes it.

    Raises:
        InputError: no such file, a folder, or no client for such URLs.
        DeniedError: no permission.
    """
    scheme, rest = split_url(url)
    if scheme == "file":
        try:
            return open(os.path.expanduser(rest), "rb")
        except OSError as error:
            raise _unreadable(error, rest) from None
    remote = _Remote(os.fspath(url))
    size = remote.size()
    if size is None:  # a web server that does not tell: the whole of it
        return io.BytesIO(remote.read())
    return cast(BinaryIO, io.BufferedReader(RangeReader(remote.read_range, size, remote.name), buffer_size=1 << 20))


def input_size(url: str | os.PathLike[str]) -> int:
    """Bytes of a file or URL.

    Raises:
        InputError: no such file, a pipe or a device.
    """
    scheme, rest = split_url(url)
    if scheme != "file":
        remote = _Remote(os.fspath(url))
        size = remote.size()
        return len(remote.read()) if size is None else size
    try:
        _check_regular(os.path.expanduser(rest))
        return os.path.getsize(os.path.expanduser(rest))
    except OSError as error:
        raise _unreadable(error, rest) from None


def expand_inputs(pattern: str | os.PathLike[str]) -> list[str]:
    """The files that a path, URL or glob stands for, sorted; a folder stands for the files in it, at any depth.

    Hidden files (`.x`, `_x`), such as markers of other writers, are left out of folders.

    Raises:
        InputError: nothing matches.
    """
    text = os.fspath(pattern)
    scheme, rest = split_url(text)
    found = _expand_local(os.path.expanduser(rest)) if scheme == "file" else _Remote(text).expand()
    if not found:
        raise InputError(f"{without_credentials(text)}: no such file, and nothing matches it; check the path")
    return found


def _expand_local(path: str) -> list[str]:
    if os.path.isdir(path):
        return sorted(str(file) for file in Path(path).rglob("*") if file.is_file() and not _hidden(file, path))
    if os.path.exists(path):
        _check_regular(path)
        return [path]
    return sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))


def _check_regular(path: str) -> None:
    """Refuse what has no end or no beginning to go back to; opening a pipe would wait for somebody to write into it."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a pipe or a device, and data is read more than once; write it to a file first")


def _hidden(file: Path, folder: str) -> bool:
    return any(piece.startswith((".", "_")) for piece in file.relative_to(folder).parts)


def _unreadable(error: OSError, path: str) -> Exception:
    ours = translate(error, path, None)
    if isinstance(ours, MissingError):
        what = "is a folder" if os.path.isdir(os.path.expanduser(path)) else "no such file"
        return InputError(f"{path}: {what}; check the path")
    return ours


class _Remote:
    """A URL behind our own deadline and retries. The client is opened once."""

    def __init__(self, url: str) -> None:
        self.name = without_credentials(url)
        self._url = url
        self._fs, self._path = open_filesystem(url, {})

    def size(self) -> int | None:
        size = self._call(lambda: self._fs.size(self._path))
        return None if size is None else int(size)

    def read(self) -> bytes:
        return self._call(lambda: bytes(self._fs.cat_file(self._path)))

    def read_range(self, start: int, length: int) -> bytes:
        return self._call(lambda: bytes(self._fs.cat_file(self._path, start=start, end=start + length)), length)

    def expand(self) -> list[str]:
        if _GLOB_CHARACTERS & set(self._path) and not self._url.startswith(("http://", "https://")):
            paths = self._call(lambda: self._fs.glob(self._path))
        elif self._call(lambda: self._fs.isdir(self._path)):
            paths = self._call(lambda: self._fs.find(self._path))
        else:
            return [self._url]
        return sorted(str(self._fs.unstrip_protocol(path)) for path in paths)

    def _call(self, action: Callable[[], T], n_bytes: int = 0) -> T:
        extra_s = n_bytes / SLOWEST_BYTES_PER_S

        def once() -> T:
            try:
                return within(_TIMEOUT_S / 2 + extra_s, action, self.name)
            except Exception as error:  # noqa: BLE001 - a border of libraries
                ours: Any = translate(error, self.name, None)
                raise ours from None

        try:
            return Retries(timeout_s=_TIMEOUT_S).call(once, self.name, extra_s=extra_s)
        except MissingError:
            raise InputError(f"{self.name}: no such file; check the address") from None
