"""What a session changed, as a patch on the commit where it began, and the tree that such a patch leads to.

Trees are written to a repository of our own, which is lent the objects of the fixture; git runs in neither tree. Files
are kept byte by byte, with their executable bit, links as links. Empty folders, pipes, sockets, devices and whatever
lies in a `.git` are no part of a tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pipeline.errors import WorkspaceError
from pipeline.sandbox.beneath import Entry, Kind, list_beneath, read_beneath
from pipeline.sandbox.git import Repository, git_folder, lent_repository, own_repository
from pipeline.sandbox.git_objects import SHA1_DIGITS, SUBMODULE, GitObjects, TreeEntry, object_digest
from pipeline.sandbox.workspace import PURPOSE, Workspace, is_tree_path, link_text, told_of_tree, write_files
from pipeline.store.scratch import scratch_folder

MAX_FILE_BYTES = 256 * 2**20  # of one file that changed: a patch is held in memory
_DIFF = (
    "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
)  # fmt: skip


class Change(NamedTuple):
    """How one tree became another."""

    base_tree: str
    """Git's id of the tree at the beginning."""
    end_tree: str
    """Git's id of the tree at the end."""
    patch: bytes
    """From the one to the other; empty: they are the same."""


def change_of(fixture: Path, base_commit: str | None, tree: Path) -> Change:
    """What is different in a tree that began as a fixture at a commit.

    Args:
        fixture: a repository, or a folder without git as it was when the session began.
        base_commit: a full id; None: the fixture has no git.
        tree: what the session left. Nothing in it is run or obeyed.

    Raises:
        WorkspaceError: git is missing, there is no such commit, or the tree is too large or cannot be read.
        OSError: our own disk takes no more.
    """
    told = told_of_tree("what the session left cannot be kept")
    with told, _repository_for(fixture, base_commit) as (repository, scratch), repository.reading() as objects:
        base = _base_tree(repository, objects, fixture, base_commit, scratch)
        end = _write_tree(repository, tree, scratch, list(objects.entries(base, is_tree=True)), len(base))
        return Change(base, end, b"" if base == end else _checked(repository, (*_DIFF, base, end)))


@contextmanager
def changed_workspace(
    fixture: Path, base_commit: str | None, patch: bytes, end_tree: str | None = None
) -> Iterator[Workspace]:
    """The tree that a patch leads to, as a workspace of its own.

    Args:
        fixture: as for `change_of`.
        base_commit: as for `change_of`.
        patch: of a `Change`.
        end_tree: the tree to which it must lead; None: that is not known.

    Raises:
        WorkspaceError: the patch does not fit, or leads to another tree; what `change_of` raises.
    """
    with _repository_for(fixture, base_commit) as (repository, scratch), repository.reading() as objects:
        base = _base_tree(repository, objects, fixture, base_commit, scratch)
        end = _apply(repository, base, patch, scratch / "index") if patch else base
        if end_tree not in (None, end):
            raise WorkspaceError(f"{fixture}: what the session changed leads to tree {end}, expected {end_tree}")
        tree = scratch / "tree"
        tree.mkdir()
        with told_of_tree("what the session left cannot be laid out"):
            write_files(objects, list(objects.entries(end, is_tree=True)), tree)
        yield Workspace(tree, base_commit)


@contextmanager
def _repository_for(fixture: Path, base_commit: str | None) -> Iterator[tuple[Repository, Path]]:
    """A repository that knows the fixture's commits and takes new objects, and a folder for what it needs beside it."""
    if not fixture.is_dir():
        raise WorkspaceError(f"{fixture} is no folder; expected the folder of a repository, or of files")
    with scratch_folder(PURPOSE) as scratch:
        if base_commit is None:
            with own_repository() as own:
                yield own, scratch
            return
        if git_folder(fixture) is None:
            raise WorkspaceError(f"{fixture} is no git repository, so that base_commit {base_commit!r} names nothing")
        with lent_repository(fixture) as lent:
            objects = scratch / "objects"
            objects.mkdir()
            yield lent._replace(own_objects=objects), scratch


def _base_tree(
    repository: Repository, objects: GitObjects, fixture: Path, base_commit: str | None, scratch: Path
) -> str:
    if base_commit is None:
        return _write_tree(repository, fixture, scratch, [], SHA1_DIGITS)
    return objects.tree_of(objects.commit_of(base_commit))


def _write_tree(repository: Repository, folder: Path, scratch: Path, known: list[TreeEntry], n_digits: int) -> str:
    """Git's id of the tree that a folder holds; only objects that are not known yet are written."""
    ids = {file.object_id for file in known}
    lines = []
    with TemporaryDirectory(dir=scratch) as name:
        fresh = Path(name)
        for entry in list_beneath(folder, leave_out=frozenset({".git"})):
            if entry.kind not in (Kind.FILE, Kind.LINK) or not is_tree_path(entry.path):
                continue
            data = content_of(folder, entry)
            object_id = object_digest("blob", data, n_digits)
            if object_id not in ids:
                ids.add(object_id)
                (fresh / object_id).write_bytes(data)
            lines.append(b"%b %b 0\t%b" % (_mode(entry), object_id.encode(), os.fsencode(entry.path)))
        _write_blobs(repository, fresh)
    # Submodules are empty folders in every tree that is laid out, so nothing can be told of a change.
    lines += [b"160000 %b 0\t%b" % (x.object_id.encode(), os.fsencode(x.path)) for x in known if x.mode == SUBMODULE]
    index = scratch / "index"
    index.unlink(missing_ok=True)
    _checked(repository, ("update-index", "-z", "--index-info"), b"".join(line + b"\0" for line in lines), index)
    return _checked(repository, ("write-tree",), index=index).decode("ascii").strip()


def content_of(folder: Path, entry: Entry) -> bytes:
    """The bytes of a file, or where a link leads.

    Raises:
        WorkspaceError: it is larger than a file that is held in memory, or cannot be read.
    """
    return (
        link_text(folder, entry.path)
        if entry.kind is Kind.LINK
        else read_beneath(folder, entry.path, max_bytes=MAX_FILE_BYTES)
    )


def _mode(entry: Entry) -> bytes:
    if entry.kind is Kind.LINK:
        return b"120000"
    return b"100755" if entry.is_executable else b"100644"


def _write_blobs(repository: Repository, folder: Path) -> None:
    """All files of a folder of ours in one call of git."""
    paths = b"".join(b"%b\n" % os.fsencode(path) for path in folder.iterdir())
    if paths:
        _checked(repository, ("hash-object", "-w", "--no-filters", "--stdin-paths"), paths)


def _apply(repository: Repository, base: str, patch: bytes, index: Path) -> str:
    """In an index alone: no file is touched. The tree that comes of it is looked at before it is laid out."""
    _checked(repository, ("read-tree", base), index=index)
    applied = repository.run(("apply", "--cached", "--binary", "--whitespace=nowarn", "-"), patch, index)
    if applied.returncode != 0:
        said = applied.stderr.decode("utf-8", "replace").strip().splitlines()
        raise WorkspaceError(f"{repository.source}: what the session changed does not fit: {said[:1] or 'no reason'}")
    return _checked(repository, ("write-tree",), index=index).decode("ascii").strip()


def _checked(repository: Repository, arguments: tuple[str, ...], told: bytes = b"", index: Path | None = None) -> bytes:
    done = repository.run(arguments, told, index)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise WorkspaceError(f"{repository.source}: git {arguments[0]} failed: {said[-1] if said else 'no reason'}")
    return done.stdout
