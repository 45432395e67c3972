"""Files beneath a folder that somebody else has filled: no link is followed, no pipe is waited for, nothing has no end.

Linux resolves a path in one call (openat2); elsewhere, and on old kernels, each of its steps is opened by itself.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError, UnsafeFileError, WorkspaceError

MAX_FILES = 100_000  # entries of one tree: more is no source tree, and a listing must end
MAX_DEPTH = 64  # folders in folders
MAX_DIGEST_BYTES = 16 * 2**30  # of one file whose digest is taken: half a minute
MAX_READ_BYTES = 64 * 2**20  # of one file that is held in memory

_SYS_OPENAT2 = 437  # the same number on every architecture
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08
_CHUNK = 2**20
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = _READ | os.O_DIRECTORY


class Kind(StrEnum):
    """What stands at a path. A link is never followed, so that its target does not matter."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"
    """A pipe, a socket, a device."""


class Entry(NamedTuple):
    """One thing beneath a folder."""

    path: str
    """Relative, with forward slashes. Bytes that are no UTF-8 are kept as surrogates."""
    kind: Kind
    size_bytes: int
    is_executable: bool
    n_names: int
    """Hard links; more than one where a file may also stand elsewhere."""


class _How(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


def checked_path(path: str) -> str:
    """A path that stays beneath its folder by its text alone.

    Raises:
        InputError: it is empty, absolute, holds NUL, or has a step `..`, `.` or without a name.
    """
    steps = path.split("/")
    if not path or "\0" in path or any(step in ("", ".", "..") for step in steps):
        raise InputError(f"path {path!r} is not relative and plain; expected one such as src/parser.py, without ..")
    return path


def open_beneath(folder: Path | int, path: str, flags: int = _READ, mode: int = 0) -> int:
    """A file descriptor of what stands at a path, which the caller closes.

    Args:
        folder: a folder or a descriptor of one.
        path: relative; no step of it may be a link, the last one included.
        flags: of `os.open`.
        mode: of a file that is created.

    Raises:
        InputError: the path leaves the folder by its text.
        UnsafeFileError: a link stands on the way.
        FileNotFoundError: nothing stands there, or a step is no folder.
    """
    checked_path(path)
    with opened_folder(folder) as base:
        try:
            return _open_at_once(base, path, flags | os.O_NOFOLLOW, mode)
        except OSError as error:
            raise _told(error, path) from None


def _told(error: OSError, path: str) -> Exception:
    if error.errno in (errno.ELOOP, errno.EXDEV, errno.EMLINK):
        return UnsafeFileError(f"{path!r} leads through a link, which is not followed")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return FileNotFoundError(errno.ENOENT, "nothing stands at this path", path)
    if error.errno == errno.ENXIO:  # a socket, or a pipe that nobody reads
        return UnsafeFileError(f"{path!r} is no regular file")
    if error.errno == errno.ENAMETOOLONG:
        return InputError(f"path {path[:60]!r}... is too long")
    return WorkspaceError(f"{path!r} cannot be opened: {error.strerror}")


def _open_at_once(base: int, path: str, flags: int, mode: int) -> int:
    if sys.platform == "linux":
        how = _How(flags, mode, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS)
        size = ctypes.c_size_t(ctypes.sizeof(how))
        found = _libc().syscall(_SYS_OPENAT2, base, os.fsencode(path), ctypes.byref(how), size)
        if found >= 0:
            return int(found)
        number = ctypes.get_errno()
        # Of a link in place of a folder, it says ENOTDIR: the steps tell which of the two it is.
        if number not in (errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EAGAIN, errno.ENOTDIR):
            raise OSError(number, os.strerror(number))
    return open_step_by_step(base, path, flags, mode)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def open_step_by_step(base: int, path: str, flags: int, mode: int) -> int:
    """The same without openat2: every folder on the way is opened by itself, and is none if it is a link."""
    *folders, last = checked_path(path).split("/")
    at = os.dup(base)
    try:
        for step in folders:
            inner = _open_folder(at, step)
            os.close(at)
            at = inner
        return (
            _open_folder(at, last) if flags & os.O_DIRECTORY else os.open(last, flags | os.O_NOFOLLOW, mode, dir_fd=at)
        )
    finally:
        os.close(at)


def _open_folder(at: int, step: str) -> int:
    try:
        return os.open(step, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
    except NotADirectoryError:
        # Linux says so of a link, too.
        if stat.S_ISLNK(os.stat(step, dir_fd=at, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


@contextmanager
def open_file(folder: Path | int, path: str) -> Iterator[int]:
    """A descriptor of a regular file. A pipe is not waited for.

    Raises:
        UnsafeFileError: it is no regular file, or a link stands on the way.
        FileNotFoundError: nothing stands there.
    """
    found = open_beneath(folder, path, _READ | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise UnsafeFileError(f"{path!r} is no regular file")
        yield found
    finally:
        os.close(found)


def read_beneath(folder: Path | int, path: str, *, max_bytes: int = MAX_READ_BYTES) -> bytes:
    """The bytes of a regular file.

    Raises:
        UnsafeFileError: it is no regular file, or a link stands on the way.
        FileNotFoundError: nothing stands there.
        WorkspaceError: it is larger than `max_bytes`, or cannot be read.
    """
    pieces = bytearray()
    with open_file(folder, path) as found:
        while piece := os.read(found, min(_CHUNK, max_bytes + 1 - len(pieces))):
            pieces += piece
            if len(pieces) > max_bytes:
                raise WorkspaceError(f"{path!r} is larger than {max_bytes:,} bytes, which is the most that is read")
    return bytes(pieces)


def digest_beneath(folder: Path | int, path: str, *, max_bytes: int = MAX_DIGEST_BYTES) -> str:
    """SHA-256 of the bytes of a regular file; raises what `read_beneath` raises."""
    digest = hashlib.sha256()
    with open_file(folder, path) as found:
        # A file of holes says that it is any size, and is read as that.
        n_bytes = 0 if os.fstat(found).st_size <= max_bytes else max_bytes + 1
        while n_bytes <= max_bytes and (piece := os.read(found, _CHUNK)):
            digest.update(piece)
            n_bytes += len(piece)
    if n_bytes > max_bytes:
        raise WorkspaceError(f"{path!r} is larger than {max_bytes:,} bytes, which is the most that is read")
    return digest.hexdigest()


def kind_beneath(folder: Path | int, path: str) -> Kind | None:
    """What stands at a path; None: nothing.

    Raises:
        UnsafeFileError: a link stands on the way to it.
    """
    above, _, last = checked_path(path).rpartition("/")
    with opened_folder(folder) as base:
        try:
            at = open_beneath(base, above, _FOLDER) if above else os.dup(base)
        except FileNotFoundError:
            return None
        try:
            return kind_of(os.stat(last, dir_fd=at, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _told(error, path) from None
        finally:
            os.close(at)


def kind_of(mode: int) -> Kind:
    """The kind that a mode of `os.stat` tells."""
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    return Kind.LINK if stat.S_ISLNK(mode) else Kind.OTHER


def list_beneath(
    folder: Path | int,
    *,
    max_files: int = MAX_FILES,
    max_depth: int = MAX_DEPTH,
    leave_out: frozenset[str] = frozenset(),
) -> Iterator[Entry]:
    """Everything beneath a folder, each folder before what it holds, sorted by name. No link is followed.

    Args:
        leave_out: names of files or folders that are passed over at the top.

    Raises:
        WorkspaceError: there are more entries, or deeper ones, than allowed; a folder cannot be read.
    """
    n_seen = 0
    with opened_folder(folder) as base:
        for entry in _walk(base, "", max_depth, max_depth, leave_out):
            n_seen += 1
            if n_seen > max_files:
                raise WorkspaceError(f"more than {max_files:,} files and folders; this is the most that is looked at")
            yield entry


def _walk(at: int, above: str, depth: int, max_depth: int, leave_out: frozenset[str] = frozenset()) -> Iterator[Entry]:
    if depth <= 0:
        raise WorkspaceError(f"{above[:60]!r} lies deeper than {max_depth} folders; this is the most that is looked at")
    try:
        names = sorted(name for name in os.listdir(at) if name not in leave_out)
    except OSError as error:
        raise WorkspaceError(f"the folder {above or '.'!r} cannot be read: {error.strerror}") from None
    for name in names:
        path = f"{above}/{name}" if above else name
        try:
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:  # gone meanwhile
            continue
        kind = kind_of(found.st_mode)
        yield Entry(path, kind, found.st_size, bool(found.st_mode & 0o100), found.st_nlink)
        if kind is Kind.FOLDER:
            try:
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
            except OSError as error:
                raise WorkspaceError(f"the folder {path!r} cannot be read: {error.strerror}") from None
            try:
                yield from _walk(inner, path, depth - 1, max_depth)
            finally:
                os.close(inner)


@contextmanager
def opened_folder(folder: Path | int) -> Iterator[int]:
    """A descriptor of a folder for as long as the block lasts: what is given, or one that is closed then.

    Raises:
        WorkspaceError: it is no folder, or may not be read.
    """
    if isinstance(folder, int):
        yield folder
        return
    try:
        base = os.open(folder, _FOLDER)
    except OSError as error:
        raise WorkspaceError(f"{folder} is no folder that can be read: {error.strerror}") from None
    try:
        yield base
    finally:
        os.close(base)
