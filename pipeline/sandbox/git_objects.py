"""Objects of a repository that somebody else may have written: believed if their digest is their name.

Git itself does not look at that when it reads: an agent could put other files in the place of those that judge it.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import fsdecode, fsencode
from pathlib import Path
from typing import IO, NamedTuple, cast

from pipeline.errors import InputError, WorkspaceError
from pipeline.sandbox.beneath import MAX_DEPTH, MAX_FILES

FOLDER, SUBMODULE = "040000", "160000"
SHA1_DIGITS, SHA256_DIGITS = 40, 64
OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TREE_OF_COMMIT = re.compile(rb"tree ([0-9a-f]{40}(?:[0-9a-f]{24})?)\n")


class TreeEntry(NamedTuple):
    """One file, link or submodule of a commit's tree."""

    path: str
    mode: str
    """100644, 100755, 120000 (a link) or 160000 (a submodule); old repositories hold others, too."""
    object_id: str


class GitObjects:
    """The objects of one repository, read one after the other.

    Args:
        asked: to `git cat-file --batch`.
        told: by it.
        where: the repository, for errors.
    """

    def __init__(self, asked: IO[bytes], told: IO[bytes], where: Path) -> None:
        self._asked, self._told, self._where = asked, told, where

    def read(self, object_id: str, kind: str, what: str, max_bytes: int | None = None) -> bytes:
        """The bytes of an object.

        Args:
            kind: `commit`, `tree` or `blob`.
            what: it is, for errors.
            max_bytes: that it may have; None: any.

        Raises:
            WorkspaceError: it is missing, of another kind, damaged, too large, or not the one that its name says.
        """
        header = self._header_of(object_id.encode())
        if header is None:
            raise self._error(object_id, what, "cannot be read")
        if header[1:] == [b"missing"]:
            raise self._error(object_id, what, "is missing")
        if len(header) != 3:
            raise self._error(object_id, what, "cannot be read: it is damaged")
        if header[1] != kind.encode():
            raise self._error(object_id, what, f"is a {header[1].decode('ascii', 'replace')}, expected a {kind}")
        n_bytes = int(header[2])
        if max_bytes is not None and n_bytes > max_bytes:  # before the memory is filled with it
            raise self._error(object_id, what, f"has {n_bytes:,} bytes: the tree holds more than is laid out")
        return self._read(object_id, kind, what, n_bytes)

    def _header_of(self, name: bytes) -> list[bytes] | None:
        """What git says before the bytes of an object; None: it gave up at the one before."""
        try:
            self._asked.write(name + b"\n")
            self._asked.flush()
        except BrokenPipeError:
            return None
        return self._told.readline().split()

    def _read(self, object_id: str, kind: str, what: str, n_bytes: int) -> bytes:
        data = self._told.read(n_bytes)
        if self._told.read(1) != b"\n":
            raise self._error(object_id, what, "cannot be read: it is damaged")
        if object_digest(kind, data, len(object_id)) != object_id:
            raise self._error(object_id, what, "has other bytes than its name says: the repository was tampered with")
        return data

    def commit_of(self, revision: str) -> str:
        """The full id of the commit that a revision names.

        Raises:
            InputError: the text cannot be a revision.
            WorkspaceError: there is no such commit, or it is none to be believed.
        """
        if not revision or revision.startswith("-") or any(mark in revision for mark in "\0\n\r"):
            raise InputError(f"base_commit {revision!r} is no revision; expected one such as HEAD, a tag or a full id")
        header = self._header_of(fsencode(f"{revision}^{{commit}}"))
        commit = header[0].decode("ascii", "replace") if header else ""
        if not header or len(header) != 3 or header[1] != b"commit" or not OBJECT_ID.fullmatch(commit):
            raise WorkspaceError(
                f"base_commit {revision!r} is no commit of {self._where}; "
                "expected a branch, a tag or a commit id that is there"
            )
        self._read(commit, "commit", "the base commit", int(header[2]))
        return commit

    def blobs(self, files: Iterable[TreeEntry], max_bytes: int) -> Iterator[tuple[TreeEntry, bytes]]:
        """The bytes of files, one after the other, exactly as they were committed: no filter, no line ends.

        Args:
            max_bytes: of all of them together.

        Raises:
            WorkspaceError: an object is missing, damaged, or not the one that its name says; they are more bytes.
        """
        left = max_bytes
        for file in files:
            data = self.read(file.object_id, "blob", repr(file.path), left)
            left -= len(data)
            yield file, data

    def entries(self, commit: str, *, is_tree: bool = False) -> Iterator[TreeEntry]:
        """Every file of a commit, by path, with submodules as entries of their own.

        Args:
            commit: its id.
            is_tree: whether that is the id of a tree instead.

        Raises:
            WorkspaceError: an object on the way is none to be believed; more files, or deeper ones, than are looked at.
        """
        tree = commit if is_tree else self.tree_of(commit)
        for number, entry in enumerate(self._walk(tree, "", MAX_DEPTH)):
            if number >= MAX_FILES:
                raise WorkspaceError(f"{self._where}: the tree of {commit} holds more than {MAX_FILES:,} files")
            yield entry

    def tree_of(self, commit: str) -> str:
        """The id of a commit's tree."""
        found = _TREE_OF_COMMIT.match(self.read(commit, "commit", "the base commit"))
        if found is None:
            raise self._error(commit, "the base commit", "names no tree")
        return found[1].decode()

    def _walk(self, tree: str, above: str, depth: int) -> Iterator[TreeEntry]:
        what = f"the folder {above or '.'!r}"
        if depth <= 0:
            raise WorkspaceError(f"{self._where}: {above[:60]!r} lies deeper than {MAX_DEPTH} folders")
        data, n_bytes, at = self.read(tree, "tree", what), len(tree) // 2, 0
        while at < len(data):
            mode, _, rest = data[at : data.find(b"\0", at)].partition(b" ")
            begin = at + len(mode) + len(rest) + 2
            at = begin + n_bytes
            if not rest or b"/" in rest or at > len(data):
                raise self._error(tree, what, "is no list of files")
            entry = TreeEntry(above + fsdecode(rest), mode.decode("ascii", "replace").zfill(6), data[begin:at].hex())
            if entry.mode == FOLDER:
                yield from self._walk(entry.object_id, f"{entry.path}/", depth - 1)
            else:
                yield entry

    def _error(self, object_id: str, what: str, reason: str) -> WorkspaceError:
        return WorkspaceError(f"{self._where}: the object {object_id} of {what} {reason}")


@contextmanager
def opened_objects(command: Sequence[str], environment: Mapping[str, str], where: Path) -> Iterator[GitObjects]:
    """The objects that a command, which is `git … cat-file --batch`, hands out, for as long as the block lasts."""
    with subprocess.Popen(
        command,
        env=environment,
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield GitObjects(cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout), where)
        finally:
            process.kill()


def object_digest(kind: str, data: bytes, n_digits: int) -> str:
    """The id of an object of these bytes, as hex.

    Args:
        kind: `commit`, `tree` or `blob`.
        data: its bytes.
        n_digits: 40, or 64 in a repository whose ids are SHA-256.
    """
    digest = hashlib.sha256() if n_digits == SHA256_DIGITS else hashlib.sha1(usedforsecurity=False)
    digest.update(f"{kind} {len(data)}\0".encode())
    digest.update(data)
    return digest.hexdigest()
