"""A file that a command leaves behind: create-only unless asked otherwise, and whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from pathlib import Path

from pipeline.errors import InputError
from pipeline.store.faults import translate

_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def check_new_file(path: Path, *, overwrite: bool) -> None:
    """Refuse early what `write_new_file` could not write, before work is done for it.

    Raises:
        InputError: the file is there already, or cannot be made.
    """
    _refuse_what_stands(path, overwrite=overwrite)
    if not path.parent.is_dir():
        what = "is no folder" if path.parent.exists() else "is not there; make it first"
        raise InputError(f"{path} cannot be written: the folder {path.parent} {what}")
    temp = _temp(path)
    try:
        temp.touch(exist_ok=False)
        temp.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def write_new_file(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Write a file under another name beside it, then give it its own in one step.

    Args:
        path: in a folder that is there.
        data: all of it.
        overwrite: whether a file of that name is replaced.

    Raises:
        InputError: the file is there already.
        StoreError: the disk is full, or fails.
    """
    _refuse_what_stands(path, overwrite=overwrite)
    temp = _temp(path)
    try:
        with open(temp, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _name(temp, path, overwrite=overwrite)
    except OSError as error:
        raise translate(error, str(path), None) from None
    finally:
        temp.unlink(missing_ok=True)


def _refuse_what_stands(path: Path, *, overwrite: bool) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{str(path)!r} cannot be written: {reason}") from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a folder; name a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is no regular file, and is not replaced; choose another name")
    if not overwrite:
        raise _is_there(path)


def _name(temp: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        temp.replace(path)
        return
    try:
        os.link(temp, path)  # unlike a rename, it fails where the name was taken meanwhile
    except FileExistsError:
        raise _is_there(path) from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        raise InputError(
            f"{path.parent}: this file system has no hard links, so a file cannot be made without replacing another; "
            "add --overwrite, or choose another folder"
        ) from None


def _is_there(path: Path) -> InputError:
    return InputError(f"{path} is there already; choose another name, or add --overwrite")


def _temp(path: Path) -> Path:
    return path.with_name(f".assay-{uuid.uuid4().hex}.tmp")
