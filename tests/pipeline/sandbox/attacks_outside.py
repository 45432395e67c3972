"""Attacks by what is left behind: files that the harness reads, repositories that it takes commits from."""

# ruff: noqa: E501 - one attack a line

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from attack import Attack, Ground

from pipeline.errors import AssayError
from pipeline.sandbox import (
    SandboxedCommand,
    digest_beneath,
    list_beneath,
    read_beneath,
    resolve_commit,
    restore_files,
    run_sandboxed,
    workspace_copy,
    workspace_of,
)
from pipeline.sandbox.beneath import open_step_by_step

Lay = Callable[[Path, Ground], object]


def _read_of(path: str, lay: Lay) -> Callable[[Ground], str]:
    """Lay something out in a tree, then read it as the harness does, in each of its ways."""

    def attempt(at: Ground) -> str:
        with tempfile.TemporaryDirectory(dir=at.folder) as name:
            tree = Path(name)
            lay(tree, at)
            began = time.monotonic()
            for read in (read_beneath, digest_beneath, _by_steps, _by_copy):
                found = b""
                with contextlib.suppress(AssayError, OSError):
                    found = read(tree, path)
                told = found if isinstance(found, bytes) else found.encode()
                if at.secret.encode() in told or hashlib.sha256(at.secret.encode()).hexdigest().encode() in told:
                    return f"{read.__name__} gave the secret"
            return "" if time.monotonic() - began < 10 else "reading took without end"

    return attempt


def _by_steps(tree: Path, path: str) -> bytes:
    base = os.open(tree, os.O_RDONLY)
    try:
        found = open_step_by_step(base, path, os.O_RDONLY | os.O_NONBLOCK, 0)
        try:
            return os.read(found, 9999)
        finally:
            os.close(found)
    finally:
        os.close(base)


def _by_copy(tree: Path, path: str) -> bytes:
    with workspace_copy(tree) as copy:
        left = [entry for entry in list_beneath(copy.path) if entry.kind == "file"]
        return b"".join(read_beneath(copy.path, entry.path) for entry in left)


def _hard_link(tree: Path, at: Ground) -> None:
    # What an agent could do outside of its sandbox alone; inside, another file system lies between.
    del at
    (tree / "own").write_text("own")
    os.link(tree / "own", tree / "file")


def _swapped(at: Ground) -> str:
    """A file that turns into a link and back while it is read."""
    with tempfile.TemporaryDirectory(dir=at.folder) as name:
        tree, over = Path(name), threading.Event()
        (tree / "file").write_text("honest")

        def swap() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    os.symlink(at.secret_file, tree / "next")
                    os.replace(tree / "next", tree / "file")
                    (tree / "next").write_text("honest")
                    os.replace(tree / "next", tree / "file")

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            for _ in range(3000):
                with contextlib.suppress(AssayError, OSError):
                    if at.secret.encode() in read_beneath(tree, "file"):
                        return "the link was followed"
        finally:
            over.set()
            thread.join()
        return ""


LEFT = {
    "a link to a file of the machine": ("x", lambda t, g: os.symlink(g.secret_file, t / "x")),
    "a link by a relative path": ("x", lambda t, g: os.symlink("../others/secret.txt", t / "x")),
    "a link to a folder of the machine": ("d/secret.txt", lambda t, g: os.symlink(g.secret_file.parent, t / "d")),
    "a link to the root": (f"d{Path('/')}", lambda t, g: os.symlink("/", t / "d")),
    "a link to a link": ("x", lambda t, g: (os.symlink(g.secret_file, t / "y"), os.symlink("y", t / "x"))),
    "a link in a circle": ("x", lambda t, g: os.symlink("x", t / "x")),
    "a link through the process": ("x", lambda t, g: os.symlink(f"/proc/self/root{g.secret_file}", t / "x")),
    "a link to an open file": ("d/0", lambda t, g: os.symlink("/proc/self/fd", t / "d")),
    "a path with ..": ("../others/secret.txt", lambda t, g: None),
    "a path with .. behind a folder": ("d/../../others/secret.txt", lambda t, g: (t / "d").mkdir()),
    "an absolute path": ("/etc/hostname", lambda t, g: None),
    "a path with NUL": ("x\0y", lambda t, g: os.symlink(g.secret_file, t / "x")),
    "a pipe that nobody writes to": ("x", lambda t, g: os.mkfifo(t / "x")),
    "a socket": ("x", lambda t, g: _socket(t / "x")),
    "a device without end": ("x", lambda t, g: _node(t / "x")),
    "a hard link": ("file", _hard_link),
    "a folder in place of a file": ("x", lambda t, g: (t / "x").mkdir()),
    "folders in folders": ("d/x", lambda t, g: _deep(t)),
    "a name that is no text": ("x", lambda t, g: (t / os.fsdecode(b"\xff\n")).write_text("x")),
}


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _node(path: Path) -> None:
    with contextlib.suppress(PermissionError):
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))


def _deep(tree: Path) -> None:
    at = os.open(tree, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def _kept(body: str) -> Callable[[Ground], str]:
    """A command whose changes are kept, and a second one after it: what the first one left must lead nowhere."""

    def attempt(at: Ground) -> str:
        with tempfile.TemporaryDirectory(dir=at.folder) as name:
            tree = Path(name)
            (tree / "d").mkdir()
            (tree / "d" / "secret.txt").write_text("mine")
            text = body.replace("@OTHERS", str(at.secret_file.parent))
            command = SandboxedCommand(("sh", "-c", text), tree, timeout_s=20, keep_changes=True)
            with contextlib.suppress(AssayError):
                run_sandboxed(command)
            with contextlib.suppress(AssayError):
                second = run_sandboxed(command._replace(argv=("sh", "-c", "cat x d/* 2>&1; ls -la . d")))
                if at.secret in second.text:
                    return "the second command read the secret"
        return at.damage()

    return attempt


KEPT = {
    "a link where a folder was": "rm -r d; ln -s @OTHERS d",
    "a link where a file was": "rm d/secret.txt; ln -s @OTHERS/secret.txt d/secret.txt",
    "a link beside": "ln -s @OTHERS/secret.txt x",
    "a pipe": "mkfifo x",
    "files that may not be read": "echo y > x; chmod 0 x; chmod 0 d",
    "a lock of the harness": "echo y > .lock; mkdir tree",
}

_MARKS = "#!/bin/sh\ntouch @MARK\ncat\n"
CONFIG = {
    "hooks": "",
    "a folder of hooks (core.hooksPath)": "[core]\n\thooksPath = @HOOKS",
    "a monitor of files (core.fsmonitor)": "[core]\n\tfsmonitor = @PROGRAM",
    "a filter that cleans and smudges": '[filter "f"]\n\tclean = @PROGRAM\n\tsmudge = @PROGRAM\n\trequired = true',
    "a filter that is a process": '[filter "f"]\n\tprocess = @PROGRAM\n\trequired = true',
    "a program that shows differences (diff.external)": "[diff]\n\texternal = @PROGRAM",
    "a driver of differences (textconv)": '[diff "f"]\n\ttextconv = @PROGRAM\n\tcommand = @PROGRAM',
    "a driver of merges": '[merge "f"]\n\tdriver = @PROGRAM',
    "settings from elsewhere (include.path)": "[include]\n\tpath = @INCLUDED",
    "settings from elsewhere, under a condition": '[includeIf "gitdir:/**"]\n\tpath = @INCLUDED',
    "a program of connections (core.sshCommand)": "[core]\n\tsshCommand = @PROGRAM\n\tgitProxy = @PROGRAM",
    "a program of packs (uploadpack.packObjectsHook)": "[uploadpack]\n\tpackObjectsHook = @PROGRAM",
    "a program of references": "[core]\n\talternateRefsCommand = @PROGRAM",
    "a pager and an editor": "[core]\n\tpager = @PROGRAM\n\teditor = @PROGRAM",
    "a program of passwords": "[credential]\n\thelper = @PROGRAM\n[core]\n\taskPass = @PROGRAM",
    "a program of signatures": "[gpg]\n\tprogram = @PROGRAM\n[log]\n\tshowSignature = true",
    "other names for commands": "[alias]\n\trev-parse = !@PROGRAM\n\tls-tree = !@PROGRAM\n\tcat-file = !@PROGRAM",
    "a promise of a remote (ext::)": '[extensions]\n\tpartialClone = o\n[remote "o"]\n\turl = ext::@PROGRAM\n\tpromisor = true\n[protocol]\n\tallow = always',
    "another tree (core.worktree)": "[core]\n\tworktree = @OTHERS",
    "another format": "[core]\n\trepositoryformatversion = 99\n[extensions]\n\tunheard = true",
}  # fmt: skip


def _git(tree: Path, *words: str, given: bytes | None = None) -> str:
    environment = {"PATH": os.defpath, "HOME": str(tree), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *settings, *words], cwd=tree, env=environment, input=given, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def repository(tree: Path) -> str:
    """A small repository; its commit."""
    tree.mkdir(exist_ok=True)
    (tree / "tests").mkdir()
    (tree / "main.py").write_text("x = 1\n")
    (tree / "tests" / "test_main.py").write_text("assert True\n")
    (tree / ".gitattributes").write_text("* filter=f diff=f merge=f text eol=crlf ident\n*.md export-ignore\n")
    (tree / "README.md").write_text("$Id$\n")
    _git(tree, "init", "--quiet")
    _git(tree, "add", "--all")
    _git(tree, "commit", "--quiet", "--message", "one")
    return _git(tree, "rev-parse", "HEAD")


def _use(tree: Path, revision: str = "HEAD") -> None:
    """All that the harness does with a repository."""
    for step in (
        lambda: resolve_commit(tree, revision),
        lambda: _workspace(tree, revision),
        lambda: _restored(tree, revision),
    ):
        with contextlib.suppress(AssayError):
            step()


def _workspace(tree: Path, revision: str) -> list[bytes]:
    with workspace_of(tree, revision) as made:
        return [read_beneath(made.path, entry.path) for entry in list_beneath(made.path) if entry.kind == "file"]


def _restored(tree: Path, revision: str) -> None:
    with workspace_copy(tree) as copy:
        commit = resolve_commit(tree, revision)
        if commit:
            restore_files(copy.path, tree, commit, ["tests", "main.py"])


def _config(settings: str) -> Callable[[Ground], str]:
    def attempt(at: Ground) -> str:
        with tempfile.TemporaryDirectory(dir=at.folder) as name:
            tree, mark, program = Path(name, "tree"), Path(name, "mark"), Path(name, "program")
            commit = repository(tree)
            program.write_text(_MARKS.replace("@MARK", str(mark)))
            program.chmod(0o755)
            hooks = Path(name, "hooks")
            for folder in (hooks, tree / ".git" / "hooks"):
                folder.mkdir(exist_ok=True)
                for hook in (
                    "post-checkout",
                    "reference-transaction",
                    "post-index-change",
                    "fsmonitor-watchman",
                    "pre-commit",
                ):
                    shutil.copy(program, folder / hook)
            included = Path(name, "included")
            included.write_text(f"[core]\n\tfsmonitor = {program}\n\thooksPath = {hooks}\n")
            found = {"@PROGRAM": program, "@HOOKS": hooks, "@INCLUDED": included, "@OTHERS": at.secret_file.parent}
            text = settings
            for word, value in found.items():
                text = text.replace(word, str(value))
            with (tree / ".git" / "config").open("a") as file:
                file.write(f"{text}\n")
            _use(tree)
            if mark.exists():
                return "the program was run"
            if resolve_commit(tree) != commit:
                return "another commit was named"
            if b"x = 1\n" not in _workspace(tree, "HEAD"):
                return "the files are not the committed ones"
        return at.damage()

    return attempt


def _led(lead: Callable[[Path, Path], object]) -> Callable[[Ground], str]:
    """A repository that leads to another one, whose files hold the secret."""

    def attempt(at: Ground) -> str:
        with tempfile.TemporaryDirectory(dir=at.folder) as name:
            tree, other = Path(name, "tree"), Path(name, "other")
            repository(tree)
            other.mkdir()
            (other / "secret.txt").write_text(at.secret)
            _git(other, "init", "--quiet")
            _git(other, "add", "--all")
            _git(other, "commit", "--quiet", "--message", "two")
            lead(tree, other)
            with contextlib.suppress(AssayError):
                if at.secret.encode() in b"".join(_workspace(tree, "HEAD")):
                    return "files of another repository were taken"
            _use(tree)
        return at.damage()

    return attempt


def _points(tree: Path, other: Path) -> None:
    shutil.rmtree(tree / ".git")
    (tree / ".git").write_text(f"gitdir: {other}/.git\n")


def _worktree(tree: Path, other: Path) -> None:
    shutil.rmtree(tree / ".git")
    fake = tree / "fake"
    fake.mkdir()
    (fake / "gitdir").write_text(f"{tree}/.git\n")
    (fake / "commondir").write_text(f"{other}/.git\n")
    shutil.copy(other / ".git" / "HEAD", fake / "HEAD")
    (tree / ".git").write_text(f"gitdir: {fake}\n")


def _linked(inner: str) -> Callable[[Path, Path], None]:
    def lead(tree: Path, other: Path) -> None:
        ours = tree / inner
        shutil.rmtree(ours) if ours.is_dir() else ours.unlink(missing_ok=True)
        os.symlink(other / inner, ours)

    return lead


def _borrows(tree: Path, other: Path) -> None:
    (tree / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (tree / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    (tree / ".git" / "refs" / "heads" / "main").write_text(_git(other, "rev-parse", "HEAD") + "\n")


LED = {
    "a .git that points at another repository": _points,
    "a worktree of another repository": _worktree,
    "a link in place of .git": _linked(".git"),
    "a link in place of the objects": _linked(".git/objects"),
    "a link in place of the references": _linked(".git/refs"),
    "a link in place of HEAD": _linked(".git/HEAD"),
    "objects of another repository (alternates)": _borrows,
    "a HEAD that leads out": lambda t, o: (t / ".git/HEAD").write_text("ref: ../../other/.git/refs/heads/main\n"),
    "a HEAD without end": lambda t, o: (t / ".git/HEAD").write_text("ref: refs/heads/main\n" * 10000),
    "a HEAD that is a pipe": lambda t, o: ((t / ".git/HEAD").unlink(), os.mkfifo(t / ".git/HEAD")),
    "a reference with ..": lambda t, o: (t / ".git/packed-refs").write_text("0" * 40 + " refs/../../planted\n"),
    "a reference in a circle": lambda t, o: (t / ".git/refs/heads/main").write_text("ref: refs/heads/main\n"),
    "a replaced commit": lambda t, o: (
        _git(t, "fetch", "--quiet", str(o), "HEAD"), _git(t, "replace", "HEAD", "FETCH_HEAD"),
    ),
    "an object that is a pipe": lambda t, o: _pipe_of(t),
    "packs that are none": lambda t, o: (t / ".git/objects/pack/pack-x.idx").write_bytes(b"\xfftOc" + b"\0" * 4096),
    "a repository within": lambda t, o: shutil.copytree(o / ".git", t / "inner.git"),
}  # fmt: skip


def _pipe_of(tree: Path) -> None:
    commit = _git(tree, "rev-parse", "HEAD")
    os.mkfifo(tree / ".git" / "refs" / "heads" / "pipe")
    place = tree / ".git" / "objects" / commit[:2] / commit[2:]
    place.unlink()
    os.symlink("/dev/zero", place)


def _object(tree: Path, kind: str, data: bytes) -> str:
    """An object as it is, also where git itself would not write it."""
    whole = f"{kind} {len(data)}\0".encode() + data
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    place = tree / ".git" / "objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    if not place.exists():
        place.write_bytes(zlib.compress(whole))
    return name


def _committed(*entries: tuple[str, str, bytes]) -> Callable[[Ground], str]:
    """A commit whose tree holds what git would refuse to add: mode, name, bytes (of a tree: a file `x` in it)."""

    def attempt(at: Ground) -> str:
        with tempfile.TemporaryDirectory(dir=at.folder) as name:
            tree = Path(name, "tree")
            repository(tree)
            lines = b""
            for mode, entry, data in entries:
                data = data.replace(b"@OTHERS", str(at.secret_file.parent).encode())
                blob = _object(tree, "blob", data)
                if mode == "40000":
                    blob = _object(tree, "tree", b"100644 secret.txt\0" + bytes.fromhex(blob))
                lines += f"{mode} {entry}\0".encode() + bytes.fromhex("12" * 20 if mode == "160000" else blob)
            top = _object(tree, "tree", lines)
            text = f"tree {top}\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nx\n"
            (tree / ".git" / "refs" / "heads" / "main").write_text(_object(tree, "commit", text.encode()) + "\n")
            before = sorted(os.listdir(at.folder))
            _use(tree)
            with contextlib.suppress(AssayError):
                if at.secret.encode() in b"".join(_workspace(tree, "HEAD")):
                    return "the secret was read"
            if _laid_out_git(tree):
                return "a folder was laid out that git may take for its own"
            if sorted(os.listdir(at.folder)) != before or Path(name, "planted").exists():
                return "a file was planted"
            if Path(tempfile.gettempdir(), "planted").exists():
                return "a file was planted"
        return at.damage()

    return attempt


def _laid_out_git(tree: Path) -> bool:
    with contextlib.suppress(AssayError), workspace_of(tree) as made:
        names = {name.replace("\u200c", "").lower() for name in os.listdir(made.path)}
        return bool(names & {".git", "git~1"})
    return False


COMMITTED = {
    "a file with .. in its path": [("100644", "../planted", b"x")],
    "a folder called ..": [("40000", "..", b"x")],
    "a file with a slash at the front": [("100644", "/tmp/planted", b"x")],
    "a file in .git": [("40000", ".git", b"x")],
    "a file in .GIT": [("40000", ".GIT", b"x")],
    "a file in git~1": [("40000", "git~1", b"x")],
    "a file in .g\u200cit": [("40000", ".g\u200cit", b"x")],
    "a link, and a file beneath it": [("120000", "d", b"@OTHERS"), ("40000", "d", b"x")],
    "a file beneath a link of the same name": [("40000", "d", b"x"), ("120000", "d", b"@OTHERS")],
    "a link out of the tree": [("120000", "link", b"@OTHERS/secret.txt")],
    "a link with NUL": [("120000", "link", b"x\0y")],
    "a link without a target": [("120000", "link", b"")],
    "a submodule": [("100644", ".gitmodules", b'[submodule "s"]\n\tpath = s\n\turl = ext::touch% /tmp/planted\n'), ("160000", "s", b"")],
    "a submodule with a name that leads out": [("100644", ".gitmodules", b'[submodule "../../planted"]\n\tpath = s\n\turl = -u./x\n'), ("160000", "s", b"")],
    "a pointer of LFS": [("100644", "x", b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1\n")],
    "an empty name": [("100644", "", b"x")],
    "the same name twice": [("100644", "x", b"x"), ("100644", "x", b"y")],
}  # fmt: skip


def _revision(text: str) -> Callable[[Ground], str]:
    def attempt(at: Ground) -> str:
        with tempfile.TemporaryDirectory(dir=at.folder) as name:
            tree = Path(name, "tree")
            commit = repository(tree)
            before = sorted(os.listdir(name))
            try:
                found = resolve_commit(tree, text.replace("@HERE", name))
            except (AssayError, ValueError):
                found = commit
            if found != commit or sorted(os.listdir(name)) != before:
                return f"{found!r} was named, {os.listdir(name)}"
        return at.damage()

    return attempt


REVISIONS = {
    "an option for a revision": "--output=@HERE/planted",
    "a revision with NUL": "HEAD\0--all",
    "a revision of two lines": "HEAD\nHEAD",
    "a search for a revision": ":/one",
    "a path for a revision": "../../refs/heads/main",
    "a file for a revision": "HEAD:main.py",
    "the reflog for a revision": "HEAD@{1}",
    "a range for a revision": "HEAD..HEAD",
    "no revision": "",
}

ATTACKS_OUTSIDE = [
    *(Attack("left behind", name, _read_of(path, lay)) for name, (path, lay) in LEFT.items()),
    Attack("left behind", "a file that turns into a link", _swapped),
    *(Attack("kept", name, _kept(body)) for name, body in KEPT.items()),
    *(Attack("git", name, _config(settings)) for name, settings in CONFIG.items()),
    *(Attack("git", name, _led(lead)) for name, lead in LED.items()),
    *(Attack("commit", name, _committed(*entries)) for name, entries in COMMITTED.items()),
    *(Attack("revision", name, _revision(text)) for name, text in REVISIONS.items()),
]
