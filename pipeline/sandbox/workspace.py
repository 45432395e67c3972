"""Trees of their own: of a commit, of a folder without git, of what an agent left. Nothing of one is shared.

Bytes are taken exactly as they were committed. Submodules are empty folders, pointers of LFS stay pointers: neither is
fetched, and nothing that a repository names is run.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError, UnsafeFileError, WorkspaceError
from pipeline.sandbox.beneath import (
    MAX_DEPTH,
    MAX_FILES,
    Entry,
    Kind,
    checked_path,
    kind_beneath,
    list_beneath,
    open_beneath,
    open_file,
    opened_folder,
)
from pipeline.sandbox.git import git_folder, lent_repository
from pipeline.sandbox.git_objects import SUBMODULE, GitObjects, TreeEntry
from pipeline.store.scratch import scratch_folder, sweep_scratch

PURPOSE = "workspace"
PURPOSES = (PURPOSE, "git", "open")
"""In the names of the folders that this package makes."""
MAX_TREE_BYTES = 2 * 2**30  # of the files of one tree
MAX_LINK_BYTES = 4096
_GIT_NAMES = frozenset({".git"})
_CHUNK = 2**20
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Workspace(NamedTuple):
    """A tree of its own, which is there until its block ends."""

    path: Path
    base_commit: str | None
    """The full id of the commit that it shows; None: it is a copy of a folder."""


def sweep_workspaces(*, apply: bool) -> list[Path]:
    """Folders that killed processes left: trees, lent repositories. Removed where `apply` is set."""
    return [folder for purpose in PURPOSES for folder in sweep_scratch(purpose, apply=apply)]


def resolve_commit(fixture: Path, base_commit: str = "HEAD") -> str | None:
    """The full id of a fixture's commit; None where the fixture has no git and none but HEAD is asked for.

    Raises:
        InputError: the text cannot be a revision.
        WorkspaceError: there is no such commit, the repository is empty, or it cannot be read.
    """
    _checked_folder(fixture)
    if git_folder(fixture) is None:
        if base_commit != "HEAD":
            raise WorkspaceError(f"{fixture} is no git repository, so that base_commit {base_commit!r} names nothing")
        return None
    with lent_repository(fixture) as repository, repository.reading() as objects:
        return objects.commit_of(base_commit)


def commit_paths(fixture: Path, base_commit: str = "HEAD") -> frozenset[str] | None:
    """The paths of a commit's files; None where the fixture has no git and none but HEAD is asked for.

    Raises:
        InputError, WorkspaceError: see `resolve_commit`.
    """
    if resolve_commit(fixture, base_commit) is None:
        return None
    with lent_repository(fixture) as repository, repository.reading() as objects:
        return frozenset(file.path for file in objects.entries(objects.commit_of(base_commit)))


@contextmanager
def workspace_of(fixture: Path, base_commit: str = "HEAD") -> Iterator[Workspace]:
    """A fixture as it is at its base commit; one without git is copied.

    Raises:
        WorkspaceError: see `resolve_commit`; or the tree is too large, or a path of it is not safe.
    """
    _checked_folder(fixture)
    if git_folder(fixture) is None:
        resolve_commit(fixture, base_commit)
        with workspace_copy(fixture) as copy:
            yield copy
        return
    with scratch_folder(PURPOSE) as scratch:
        tree = scratch / "tree"
        tree.mkdir()
        with lent_repository(fixture) as repository, repository.reading() as objects:
            commit = objects.commit_of(base_commit)
            with told_of_tree("the fixture cannot be laid out"):
                write_files(objects, list(objects.entries(commit)), tree)
        yield Workspace(tree, commit)


@contextmanager
def workspace_copy(folder: Path) -> Iterator[Workspace]:
    """A copy of a tree as it is, without its `.git`: links stay links, pipes, sockets and devices are left out.

    Raises:
        WorkspaceError: it is too large, too deep, or cannot be read.
    """
    _checked_folder(folder)
    with scratch_folder(PURPOSE) as scratch:
        tree = scratch / "tree"
        tree.mkdir()
        with told_of_tree(f"{folder} cannot be copied"):
            copy_tree(folder, tree, leave_out=_GIT_NAMES)
        yield Workspace(tree, None)


def restore_files(workspace: Path, fixture: Path, commit: str, globs: Sequence[str]) -> tuple[str, ...]:
    """Put files back as they are at a commit, and take away what else matches: the result is the commit's, and no more.

    Args:
        workspace: a tree of our own, never the agent's.
        globs: over whole relative paths: `*` and `?` within a step, `**` over steps; a folder stands for all in it.

    Returns:
        The paths that were put back.

    Raises:
        WorkspaceError: no file of the commit matches a glob; the repository cannot be read.
    """
    with lent_repository(fixture) as repository, repository.reading() as objects:
        files = [file for file in objects.entries(commit) if matches_globs(file.path, globs)]
        for glob in globs:
            if not any(matches_globs(file.path, [glob]) for file in files):
                raise WorkspaceError(f"test_files: no file of the fixture at {commit} matches {glob!r}")
        with told_of_tree("test_files cannot be restored"):
            for entry in list(list_beneath(workspace)):
                if matches_globs(entry.path, globs):
                    _remove(workspace, entry.path)
            for file in files:
                _make_way(workspace, file.path)
            write_files(objects, files, workspace)
    return tuple(file.path for file in files)


def copy_tree(source: Path | int, target: Path | int, *, leave_out: frozenset[str] = frozenset()) -> int:
    """Copy what is beneath one folder into another, empty one; returns the bytes of its files.

    Raises:
        WorkspaceError: it is too large, too deep, or cannot be read.
    """
    size_bytes = 0
    with opened_folder(source) as taken, opened_folder(target) as made:
        for entry in list_beneath(taken, leave_out=leave_out):
            if entry.kind is Kind.FOLDER:
                _make_folder(made, entry.path)
            elif entry.kind is Kind.LINK:
                _make_link(made, entry.path, link_text(taken, entry.path))
            elif entry.kind is Kind.FILE:
                with suppress(FileNotFoundError):  # gone meanwhile
                    size_bytes += _copy_file(taken, made, entry, MAX_TREE_BYTES - size_bytes)
    return size_bytes


def write_beneath(folder: Path, path: str, data: bytes) -> None:
    """Write a file beneath a folder that somebody else has filled; no link is followed, folders on the way are made.

    Raises:
        InputError: the path leaves the folder by its text, or goes deeper than a tree may.
        UnsafeFileError: a link stands on the way, or what stands there is no regular file.
        WorkspaceError: it cannot be written, such as a name that is too long.
        OSError: our own disk takes no more; what was there may be lost.
    """
    if checked_path(path).count("/") >= MAX_DEPTH:
        raise InputError(f"{path[:60]!r} lies deeper than {MAX_DEPTH} folders")
    _checked_folder(folder)
    with told_of_tree(f"{path!r} cannot be written"):
        _make_folder(folder, path.rpartition("/")[0])
        made = open_beneath(folder, path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(made).st_mode):
                raise UnsafeFileError(f"{path!r} is no regular file")
            os.ftruncate(made, 0)
            _write(made, data)
        finally:
            os.close(made)


def check_room(folder: Path, path: str, n_bytes: int) -> None:
    """Whether a tree that one more file is written to can still be copied and kept.

    Raises:
        WorkspaceError: it would hold more files, or more bytes, than a tree may.
    """
    n_more, size_bytes = path.count("/") + 1, n_bytes
    for entry in list_beneath(folder, max_files=max(0, MAX_FILES - n_more)):
        size_bytes += entry.size_bytes
    if size_bytes > MAX_TREE_BYTES:
        raise _too_large()


def replace_tree(source: int, target: Path) -> None:
    """Make a folder of ours hold what another one holds.

    Raises:
        WorkspaceError: what is to be copied is too large, too deep, or cannot be read; the folder is as it was.
        OSError: our own disk takes no more; the folder is as it was.
    """
    with scratch_folder(PURPOSE) as scratch:
        whole = scratch / "tree"
        whole.mkdir()
        with told_of_tree(f"what was done in {target} cannot be copied"):
            copy_tree(source, whole)
            for name in os.listdir(target):
                _remove(target, name)
            _move_into(whole, target)


def _move_into(source: Path, target: Path) -> None:
    """Move what is beneath one folder of ours into another, empty one; copied where that is on another disk.

    Moving takes no space, so that nothing can be lost half-way.
    """
    try:
        for name in os.listdir(source):
            os.rename(source / name, target / name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy_tree(source, target)


def give_tree_to(tree: int, user_id: int) -> None:
    """Make a user the owner of all that is beneath a folder of ours."""
    for entry in list_beneath(tree):
        with _folder_of(tree, entry.path) as (at, last):
            os.chown(last, user_id, user_id, dir_fd=at, follow_symlinks=False)


def _copy_file(source: int, target: int, entry: Entry, most: int) -> int:
    if entry.size_bytes > most:  # before the disk is filled with what is not kept
        raise _too_large()
    size_bytes = 0
    with open_file(source, entry.path) as found:
        made = open_beneath(target, entry.path, _NEW, 0o755 if entry.is_executable else 0o644)
        try:
            while piece := os.read(found, _CHUNK):
                size_bytes += len(piece)
                if size_bytes > most:
                    raise _too_large()
                _write(made, piece)
        finally:
            os.close(made)
    return size_bytes


def write_files(objects: GitObjects, files: Sequence[TreeEntry], tree: Path) -> None:
    """Lay files of a commit out in a folder of ours; nothing stands at their paths yet.

    Raises:
        WorkspaceError: they are too large together, an object is none to be believed, or a path is not safe.
    """
    for file in files:
        _checked_tree_path(file.path)
        _make_folder(tree, file.path if file.mode == SUBMODULE else file.path.rpartition("/")[0])
    blobs = [file for file in files if file.mode in ("100644", "100755", "100664", "120000")]
    # Links last, so that no file is ever written through one.
    for file, data in objects.blobs(sorted(blobs, key=lambda file: file.mode == "120000"), MAX_TREE_BYTES):
        if file.mode == "120000":
            _make_link(tree, file.path, data)
            continue
        made = open_beneath(tree, file.path, _NEW, 0o755 if file.mode == "100755" else 0o644)
        try:
            _write(made, data)
        finally:
            os.close(made)


def _checked_tree_path(path: str) -> None:
    """A tree can hold any name; one that git itself would not check out is refused."""
    try:
        steps = checked_path(path).split("/")
    except InputError as error:
        raise WorkspaceError(f"the commit holds a path that is not safe: {error}") from None
    for step in steps:
        plain = "".join(sign for sign in unicodedata.normalize("NFKC", step) if unicodedata.category(sign) != "Cf")
        if plain.casefold().rstrip(". ") in (".git", "git~1"):
            raise WorkspaceError(f"the commit holds a path that is not safe: {path!r} has a step .git")


def is_tree_path(path: str) -> bool:
    """Whether git could hold something at a path."""
    try:
        _checked_tree_path(path)
    except WorkspaceError:
        return False
    return True


def _make_folder(tree: Path | int, path: str) -> None:
    above = ""
    for step in path.split("/") if path else ():
        above = f"{above}/{step}" if above else step
        if kind_beneath(tree, above) is not Kind.FOLDER:
            with _folder_of(tree, above) as (at, last):
                os.mkdir(last, 0o755, dir_fd=at)


def _make_link(tree: Path | int, path: str, text: bytes) -> None:
    if not text or len(text) > MAX_LINK_BYTES or b"\0" in text:
        raise WorkspaceError(f"the link {path!r} cannot be made: its target has {len(text)} bytes, or holds NUL")
    with _folder_of(tree, path) as (at, last):
        os.symlink(text, os.fsencode(last), dir_fd=at)


def link_text(tree: Path | int, path: str) -> bytes:
    """Where a link leads, as it is written."""
    with _folder_of(tree, path) as (at, last):
        return os.readlink(os.fsencode(last), dir_fd=at)


@contextmanager
def _folder_of(tree: Path | int, path: str) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder that holds a path, and the last step of the path."""
    above, _, last = checked_path(path).rpartition("/")
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    base = os.dup(tree) if isinstance(tree, int) else os.open(tree, flags)
    try:
        at = open_beneath(base, above, flags) if above else os.dup(base)
    finally:
        os.close(base)
    try:
        yield at, last
    finally:
        os.close(at)


def _make_way(tree: Path, path: str) -> None:
    """Remove what stands where a file, or a folder above it, is to be."""
    steps = path.split("/")
    for n_steps in range(1, len(steps) + 1):
        above = "/".join(steps[:n_steps])
        kind = kind_beneath(tree, above)
        if kind is None:
            return
        if kind is not Kind.FOLDER or n_steps == len(steps):
            _remove(tree, above)
            return


def _remove(tree: Path, path: str) -> None:
    with suppress(FileNotFoundError), _folder_of(tree, path) as (at, last):
        if kind_beneath(tree, path) is Kind.FOLDER:
            shutil.rmtree(last, dir_fd=at)
        else:
            os.unlink(last, dir_fd=at)


def matches_globs(path: str, globs: Sequence[str]) -> bool:
    """Whether one of the globs, as `restore_files` takes them, fits a path."""
    return any(_pattern(glob).fullmatch(path) for glob in globs)


@lru_cache
def _pattern(glob: str) -> re.Pattern[str]:
    pieces = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    found = re.split(r"(\*\*/|\*\*|\*|\?)", glob.rstrip("/"))
    return re.compile("".join(pieces.get(piece) or re.escape(piece) for piece in found) + r"(?:/.*)?", re.DOTALL)


def _write(made: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(made, view) :]


@contextmanager
def told_of_tree(what: str) -> Iterator[None]:
    """What the file system says of a tree, as an error of the tree; but for a disk that takes no more: that is ours."""
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_ERRORS:
            raise OSError(error.errno, error.strerror, error.filename or tempfile.gettempdir()) from None
        raise WorkspaceError(f"{what}: {error.strerror}: {os.fsdecode(error.filename or '')!r}") from None


def _checked_folder(folder: Path) -> None:
    if not os.path.isdir(folder):
        raise WorkspaceError(f"{folder} is no folder; expected the folder of a repository, or of files")


def _too_large() -> WorkspaceError:
    return WorkspaceError(f"the tree holds more than {MAX_TREE_BYTES:,} bytes, which is the most that is copied")
