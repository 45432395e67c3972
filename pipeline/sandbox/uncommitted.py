"""What lies in the folder of a repository and is in no commit yet: a workspace, which shows a commit, has none of it.

As everywhere here, git does not run in the folder. It gets copies of the files that say what is ignored.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from pipeline.sandbox.beneath import Entry, Kind, kind_beneath, list_beneath, read_beneath
from pipeline.sandbox.end_state import content_of
from pipeline.sandbox.git import Repository, git_folder, lent_repository
from pipeline.sandbox.git_objects import SUBMODULE, TreeEntry, object_digest
from pipeline.sandbox.workspace import is_tree_path, write_beneath
from pipeline.store.scratch import scratch_folder

_IGNORE, _EXCLUDE = ".gitignore", "info/exclude"


class Uncommitted(NamedTuple):
    """Paths by what became of them since the commit, sorted."""

    new: tuple[str, ...] = ()
    """Without those that `.gitignore` files leave out, or `.git/info/exclude`."""
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    @property
    def n_paths(self) -> int:
        """All of them."""
        return len(self.new) + len(self.changed) + len(self.deleted)


def uncommitted_in(folder: Path, revision: str = "HEAD") -> Uncommitted:
    """How the files of a folder differ from a commit of its repository; nothing where it is bare, or has no git.

    Args:
        folder: the top of a repository, or of a worktree.
        revision: with what is compared.

    Raises:
        WorkspaceError: there is no such commit, or the folder is too large or cannot be read.
    """
    if git_folder(folder) in (None, folder):
        return Uncommitted()
    with lent_repository(folder) as repository:
        with repository.reading() as objects:
            committed = {file.path: file for file in objects.entries(objects.commit_of(revision))}
        modules = tuple(f"{path}/" for path, file in committed.items() if file.mode == SUBMODULE)
        found = {
            entry.path: entry
            for entry in list_beneath(folder, leave_out=frozenset({".git"}))
            if entry.kind in (Kind.FILE, Kind.LINK) and is_tree_path(entry.path) and not entry.path.startswith(modules)
        }
        ignored = _ignored(repository, folder, found, [path for path in found if path not in committed])
        here = {path: entry for path, entry in found.items() if path in committed or path not in ignored}
        return Uncommitted(
            new=tuple(sorted(here.keys() - committed.keys())),
            changed=tuple(
                path for path in sorted(here.keys() & committed.keys()) if _differs(folder, here[path], committed[path])
            ),
            deleted=tuple(path for path in sorted(committed.keys() - here.keys()) if committed[path].mode != SUBMODULE),
        )


def _differs(folder: Path, entry: Entry, file: TreeEntry) -> bool:
    if (entry.kind is Kind.LINK) != (file.mode == "120000"):
        return True
    return object_digest("blob", content_of(folder, entry), len(file.object_id)) != file.object_id


def _ignored(repository: Repository, folder: Path, found: dict[str, Entry], paths: list[str]) -> frozenset[str]:
    """Those of the paths that the folder's `.gitignore` files leave out, or its `.git/info/exclude`."""
    rules = [path for path, entry in found.items() if path.split("/")[-1] == _IGNORE and entry.kind is Kind.FILE]
    if not paths:
        return frozenset()
    with scratch_folder("git") as scratch:
        own = git_folder(folder)
        if own is not None and kind_beneath(own, _EXCLUDE) is Kind.FILE:
            write_beneath(repository.git_dir, _EXCLUDE, read_beneath(own, _EXCLUDE))
        for path in rules:
            write_beneath(scratch, path, read_beneath(folder, path))
        asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
        command = (f"--work-tree={scratch}", "check-ignore", "--no-index", "--stdin", "-z")
        told = repository.run(command, asked).stdout
    return frozenset(os.fsdecode(path) for path in told.split(b"\0") if path)
