"""Looks at a fixture: its base commit, and what stands at the paths that a spec speaks of. Never runs git in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError, UnsafeFileError, WorkspaceError
from pipeline.records.eval_spec import EvalSpec
from pipeline.sandbox import Kind, digest_beneath, kind_beneath, resolve_commit
from pipeline.session.evidence import PathKind, PathState, TreeEvidence

MAX_LINKS = 40  # on the way to one path, as in Linux

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_KINDS = {Kind.FILE: PathKind.FILE, Kind.FOLDER: PathKind.FOLDER, Kind.OTHER: PathKind.OTHER}


def look_at_tree(spec: EvalSpec, folder: Path, began: Iterable[str] = (), tree: Path | None = None) -> TreeEvidence:
    """The evidence about a fixture and the tree that a session left. What is wrong with them is evidence, too.

    Args:
        folder: the fixture, whose commits are looked at.
        began: the commits from which the session began, as its log has them.
        tree: what the session left; None: it worked in the fixture.

    Raises:
        WorkspaceError: git is not installed, which is not the fixture's fault.
    """
    where = str(folder)
    if not os.path.isdir(folder):
        what = "is no folder" if os.path.lexists(folder) else "is not there"
        return TreeEvidence(where, problem=f"the fixture {where} {what}")
    if not os.access(folder, os.R_OK | os.X_OK):
        return TreeEvidence(where, problem=f"the fixture {where} may not be read")
    left = tree or folder
    paths = {path: state_of(left, path, with_digest=with_digest) for path, with_digest in _paths_of(spec).items()}
    try:
        commit = resolve_commit(folder, spec.base_commit)
    except (WorkspaceError, InputError) as error:
        if shutil.which("git") is None:
            raise
        return TreeEvidence(where, base_problem=str(error), paths=paths)
    known = frozenset(each for each in began if commit is not None and (each == commit or _is_commit(folder, each)))
    return TreeEvidence(where, has_git=commit is not None, base_commit=commit, known_commits=known, paths=paths)


def _paths_of(spec: EvalSpec) -> dict[str, bool]:
    """Path → whether its digest is asked for."""
    expect = spec.expect
    return {
        **dict.fromkeys((*expect.required_paths, *expect.forbidden_paths), False),
        **dict.fromkeys((file.path for file in expect.files), True),
    }


def _is_commit(folder: Path, commit: str) -> bool:
    if not _OBJECT_ID.fullmatch(commit):
        return False
    try:
        return resolve_commit(folder, commit) == commit
    except WorkspaceError:
        return False


def state_of(folder: Path, path: str, *, with_digest: bool = False) -> PathState:
    """What stands at a path of a tree. Links are followed as long as they stay in it."""
    try:
        found = _resolve(folder, path)
        if found.kind is not Kind.FILE or not with_digest:
            return PathState(found.path_kind)
        return PathState(PathKind.FILE, digest_beneath(folder, found.path))
    except _OutsideError as error:
        return PathState(PathKind.OUTSIDE, detail=str(error))
    except (WorkspaceError, InputError, OSError) as error:
        return PathState(PathKind.UNREADABLE, detail=str(error))


class _OutsideError(Exception):
    pass


class _Found(NamedTuple):
    path: str
    """Without links; empty: the folder itself."""
    kind: Kind | None
    is_link: bool
    """Whether a link led to it."""

    @property
    def path_kind(self) -> PathKind:
        if self.kind is None:
            return PathKind.LINK if self.is_link else PathKind.ABSENT
        return _KINDS[self.kind]


def _resolve(folder: Path, path: str) -> _Found:
    """Follow the links of a path within a tree.

    Raises:
        _OutsideError: one leads out of it, or they lead in a circle.
    """
    left, done, kind = path.split("/"), list[str](), Kind.FOLDER
    n_links, is_link = 0, False
    while left:
        step = left.pop(0)
        if step in ("", "."):
            continue
        if step == "..":
            if not done:
                raise _OutsideError(f"{path!r} leads through a link out of the tree, which was not followed")
            done.pop()
            continue
        here = "/".join([*done, step])
        found = kind_beneath(folder, here)
        if found is None:
            return _Found(here, None, is_link)
        if found is Kind.LINK:
            n_links += 1
            is_link = is_link or not left
            left = _target(folder, here, path, n_links) + left
            continue
        done.append(step)
        kind = found
    return _Found("/".join(done), kind, is_link)


def _target(folder: Path, link: str, path: str, n_links: int) -> list[str]:
    target = os.readlink(folder / link)
    if target.startswith("/"):
        raise _OutsideError(f"{path!r} leads through a link to {target!r}, which was not followed")
    if n_links > MAX_LINKS:
        raise UnsafeFileError(f"{path!r} leads through more than {MAX_LINKS} links")
    return target.split("/")
