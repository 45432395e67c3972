"""Commits and their files, out of a repository that an agent may have written, without running git in it.

Git runs in a bare repository of our own that has neither hooks, filters nor attributes. Of the other one it is lent the
objects, which are data; its references are read as the small files that they are. Its configuration is never read.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import UnsafeFileError, WorkspaceError
from pipeline.sandbox.beneath import Kind, kind_beneath, list_beneath, read_beneath
from pipeline.sandbox.git_objects import OBJECT_ID, SHA256_DIGITS, GitObjects, opened_objects
from pipeline.store.scratch import scratch_folder

GIT_TIMEOUT_S = 120.0
MAX_OBJECT_FILES = 1_000_000  # git packs them long before
_MAX_REF_BYTES = 4096
_MAX_PACKED_REFS_BYTES = 64 * 2**20
_HARDLY_ANY_BYTES = 2**16  # left on a disk
_DISK_WORDS = (b"No space left on device", b"Out of diskspace", b"Disk quota exceeded", b"Input/output error")
_NO_HEAD = "ref: refs/nowhere"
_CONFIG = "[core]\n\trepositoryformatversion = {}\n\tbare = true\n{}"
_OTHER_FORMAT = "[extensions]\n\tobjectformat = %s\n"
_REF = re.compile(r"refs/(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|/\.|\.$))[^\x00-\x20\x7f~^:?*\[\\]+")

_HARDENED = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.sshCommand=/bin/false", "protocol.allow=never",
    "core.pager=cat", "core.editor=true", "diff.external=", "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null", "submodule.recurse=false", "core.symlinks=false", "core.alternateRefsCommand=",
    "gpg.program=/bin/false", "commit.gpgSign=false", "core.askPass=", "credential.helper=", "core.commitGraph=false",
    "core.multiPackIndex=false", "safe.bareRepository=explicit", "gc.auto=0", "maintenance.auto=false",
)  # fmt: skip


class Repository(NamedTuple):
    """A bare repository of our own that is lent the objects of another one."""

    git_dir: Path
    objects: Path
    source: Path
    own_objects: Path | None = None
    """Where new objects go, beside the lent ones, which are never added to; None: none can be made."""

    def reading(self) -> AbstractContextManager[GitObjects]:
        """Its objects, in one process of git for as long as the block lasts.

        Raises:
            WorkspaceError: git is missing.
        """
        return opened_objects(self._command(("cat-file", "--batch")), self._environment(), self.source)

    def run(
        self, arguments: Sequence[str], given: bytes = b"", index: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git on this repository.

        Args:
            arguments: the command and its arguments.
            given: on its standard input.
            index: the file of its index; None: it has none.

        Raises:
            WorkspaceError: it took too long.
            OSError: the disk takes no more.
        """
        command = self._command(arguments)
        environment = self._environment() | ({"GIT_INDEX_FILE": str(index)} if index else {})
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=self.git_dir,
                input=given,
                capture_output=True,
                timeout=GIT_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise WorkspaceError(f"{self.source}: git {arguments[0]} took longer than {GIT_TIMEOUT_S:.0f} s") from None
        _refuse_full_disk(done, self.git_dir)
        return done

    def _command(self, arguments: Sequence[str]) -> list[str]:
        settings = [word for setting in _HARDENED for word in ("-c", setting)]
        return [_git(), "--no-replace-objects", *settings, f"--git-dir={self.git_dir}", *arguments]

    def _environment(self) -> dict[str, str]:
        found = _bare_environment(self.git_dir)
        if self.own_objects is None:
            return found | {"GIT_OBJECT_DIRECTORY": str(self.objects)}
        quoted = str(self.objects).replace("\\", "\\\\").replace('"', '\\"')  # a colon separates folders
        lent = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}
        return found | {"GIT_OBJECT_DIRECTORY": str(self.own_objects)} | lent


@contextmanager
def lent_repository(fixture: Path) -> Iterator[Repository]:
    """The repository of a fixture, lent to git in a folder of our own for as long as the block lasts.

    Raises:
        WorkspaceError: the repository is of a kind that cannot be lent.
    """
    fixture = fixture.absolute()  # git works in another folder than this process does
    found = git_folder(fixture)
    if found is None:
        raise WorkspaceError(f"{fixture} is no git repository")
    with scratch_folder("git") as scratch:
        try:
            repository = _lend(fixture, found, scratch)
        except (UnsafeFileError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise OSError(error.errno, error.strerror, str(scratch)) from None
            raise WorkspaceError(f"{fixture}: its git folder cannot be read safely: {error}") from None
        yield repository


@contextmanager
def own_repository() -> Iterator[Repository]:
    """An empty repository of our own, for trees of a fixture without git."""
    with scratch_folder("git") as scratch:
        git_dir = scratch / "repository.git"
        _initialise(git_dir, "sha1", {})
        (git_dir / "objects").mkdir()
        yield Repository(git_dir, git_dir / "objects", git_dir, git_dir / "objects")


def git_folder(fixture: Path) -> Path | None:
    """Where a fixture keeps its commits: its folder `.git`, itself where it is bare; None: without git.

    Raises:
        WorkspaceError: `.git` is a link, or a file that leads to a repository which does not know of it.
    """
    kind = kind_beneath(fixture, ".git")
    if kind is None:
        is_bare = kind_beneath(fixture, "HEAD") is Kind.FILE and kind_beneath(fixture, "objects") is Kind.FOLDER
        return fixture if is_bare and kind_beneath(fixture, "refs") is Kind.FOLDER else None
    if kind is Kind.FOLDER:
        return fixture / ".git"
    if kind is Kind.FILE:
        return _worktree_folder(fixture)
    raise WorkspaceError(f"{fixture}/.git is a {kind.value}; expected a folder, or the file of a worktree")


def _worktree_folder(fixture: Path) -> Path:
    """The folder of a linked worktree, if it points back: anybody can write a file that points elsewhere."""
    text = _line_of(fixture, ".git")
    folder = fixture / text.removeprefix("gitdir:").strip()
    try:
        is_ours = os.path.samefile(folder / _line_of(folder, "gitdir"), fixture / ".git")
    except (OSError, WorkspaceError):
        is_ours = False
    if not text.startswith("gitdir:") or not is_ours:
        raise WorkspaceError(
            f"{fixture}/.git leads to {str(folder)!r}, which does not lead back; "
            "expected a repository, or a worktree of one"
        )
    return folder


def _lend(fixture: Path, found: Path, scratch: Path) -> Repository:
    common = _common_folder(found)
    if kind_beneath(common, "objects") is not Kind.FOLDER:
        raise WorkspaceError(f"{fixture}: its git folder holds no objects")
    _check_objects(fixture, common / "objects")
    if kind_beneath(common, "objects/info/alternates") or kind_beneath(common, "objects/info/http-alternates"):
        raise WorkspaceError(
            f"{fixture} borrows objects from another repository; "
            "run `git repack -a -d` in it and remove objects/info/alternates"
        )
    if kind_beneath(common, "reftable"):
        raise WorkspaceError(
            f"{fixture} keeps its references as a reftable; `git refs migrate --ref-format=files` in it"
        )
    git_dir = scratch / "repository.git"
    references = dict(_references(found, common))
    wide = any(len(target) == SHA256_DIGITS for target in references.values())
    _initialise(git_dir, "sha256" if wide else "sha1", references)
    return Repository(git_dir, common / "objects", fixture)


def _common_folder(found: Path) -> Path:
    """What worktrees share with their repository."""
    if kind_beneath(found, "commondir") is None:
        return found
    common = (found / _line_of(found, "commondir")).resolve()
    if common / "worktrees" != found.resolve().parent:
        raise WorkspaceError(f"{found}/commondir leads to {str(common)!r}, which is not its repository")
    return common


def _line_of(folder: Path, name: str) -> str:
    """What one of git's small files says. NUL, which no path holds, becomes what no file is called."""
    text = read_beneath(folder, name, max_bytes=_MAX_REF_BYTES).decode("utf-8", "replace").strip()
    return text.replace("\0", "\ufffd")


def _check_objects(fixture: Path, objects: Path) -> None:
    """Refuse what git would follow, or wait for without end."""
    for entry in list_beneath(objects, max_files=MAX_OBJECT_FILES):
        if entry.kind in (Kind.LINK, Kind.OTHER):
            what = "a link" if entry.kind is Kind.LINK else "no regular file"
            raise WorkspaceError(f"{fixture}: in its git folder, 'objects/{entry.path}' is {what}; clone it anew")


def _write_references(git_dir: Path, references: Mapping[str, str]) -> None:
    """In one file where that can be: names of others may be too long, or folders of each other."""
    references = {"HEAD": _NO_HEAD, **references}  # not the one that git makes up
    packed = [f"{target} {name}\n" for name, target in references.items() if name != "HEAD" and " " not in target]
    (git_dir / "packed-refs").write_text("".join(packed), encoding="ascii")
    for name, target in references.items():
        if name == "HEAD" or " " in target:
            place = git_dir / name
            if name != "HEAD":
                place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{target}\n", encoding="ascii")


def _references(found: Path, common: Path) -> Iterator[tuple[str, str]]:
    """Name → object id, or `ref: …`; what is no reference is left out."""
    if kind_beneath(common, "packed-refs") is not None:
        packed = read_beneath(common, "packed-refs", max_bytes=_MAX_PACKED_REFS_BYTES).decode(
            "utf-8", "surrogateescape"
        )
        for line in packed.splitlines():
            target, _, name = line.partition(" ")
            if OBJECT_ID.fullmatch(target) and _is_ref(name):
                yield name, target
    for folder in (common, found):
        if kind_beneath(folder, "refs") is Kind.FOLDER:
            for entry in list_beneath(folder / "refs"):
                name = f"refs/{entry.path}"
                if entry.kind is Kind.FILE and _is_ref(name):
                    yield from _reference(folder, name)
    yield from _reference(found, "HEAD")


def _reference(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    if kind_beneath(folder, name) is Kind.FILE:
        text = read_beneath(folder, name, max_bytes=_MAX_REF_BYTES).decode("utf-8", "surrogateescape").strip()
        if OBJECT_ID.fullmatch(text) or (text.startswith("ref: ") and _is_ref(text.removeprefix("ref: "))):
            yield name, text


def _is_ref(name: str) -> bool:
    # Replacements would show other objects than the ones that are named.
    return bool(_REF.fullmatch(name)) and name.isascii() and not name.startswith("refs/replace/")


def _initialise(git_dir: Path, object_format: str, references: Mapping[str, str]) -> None:
    """What `git init --bare` makes, without the time that a process takes, and without a folder for objects."""
    config = _CONFIG.format(0, "") if object_format == "sha1" else _CONFIG.format(1, _OTHER_FORMAT % object_format)
    git_dir.mkdir()
    (git_dir / "refs").mkdir()
    (git_dir / "config").write_text(config, encoding="ascii")
    _write_references(git_dir, references)


def _refuse_full_disk(done: subprocess.CompletedProcess[bytes], folder: Path) -> None:
    """A disk that takes no more says nothing about a repository. Git says so in several ways, or not."""
    if done.returncode == 0:
        return
    if any(words in done.stderr for words in _DISK_WORDS) or shutil.disk_usage(folder.parent).free < _HARDLY_ANY_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder.parent))


def _bare_environment(home: Path) -> dict[str, str]:
    """All that git is told from outside."""
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ASKPASS": "/bin/false",
    }


def _git() -> str:
    found = shutil.which("git")
    if found is None:
        raise WorkspaceError("git is not installed; the commits of a fixture are read with it (`apt install git`)")
    return found
