"""A session by hand: what git and bubblewrap cost where nothing is recorded, checked or judged. Knows no assay."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from session_case import COMMANDS, PROGRAM, TAG, TEST, git

USER_ID = "1000"


def session_by_hand(fixture: Path) -> str:
    """Clone, check out, run the agent's commands, take the diff, run the test on a copy with the commit's tests.

    Returns:
        The diff.
    """
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        tree, copy = Path(name, "tree"), Path(name, "copy")
        git(fixture, "clone", "--quiet", "--no-checkout", str(fixture), str(tree))
        git(tree, "checkout", "--quiet", TAG)
        for command in COMMANDS:
            sandboxed(tree, "sh", "-c", command)
        git(tree, "add", "-A")
        diff = git(tree, "diff", "--cached", "--binary", TAG)
        shutil.copytree(tree, copy)
        git(copy, "checkout", "--quiet", TAG, "--", "tests")
        sandboxed(copy, "sh", TEST)
    if PROGRAM not in diff:
        raise SystemExit("the session by hand changed nothing")
    return diff


def sandboxed(folder: Path, *argv: str) -> bytes:
    """What a command says in bubblewrap, with the same namespaces, mounts and user that assay gives it."""
    options = [
        "--unshare-all", "--unshare-user", "--uid", USER_ID, "--gid", USER_ID, "--hostname", "sandbox",
        "--new-session", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr",
        *system_folders(), "--tmpfs", "/etc", "--dev", "/dev", "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--proc", "/proc", "--remount-ro", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/home/sandbox",
        "--bind", str(folder), "/workspace", "--remount-ro", "/", "--chdir", "/workspace", "--clearenv",
        "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/home/sandbox",
    ]  # fmt: skip
    done = subprocess.run(["bwrap", *options, "--", *argv], stdin=subprocess.DEVNULL, check=True, capture_output=True)
    return done.stdout


def system_folders() -> list[str]:
    """Those that are links into /usr on most systems."""
    options: list[str] = []
    for folder in ("/bin", "/sbin", "/lib", "/lib64"):
        if os.path.islink(folder):
            options += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            options += ["--ro-bind", folder, folder]
    return options
