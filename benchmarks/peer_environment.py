"""The environment of the libraries that assay is measured against: made once, kept in the user's cache folder."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from processes import FOLDER

REQUIREMENTS = FOLDER / "peers-requirements.txt"
INSTALL_TIMEOUT_S = 600


class NoPeersError(Exception):
    """The environment could not be made; says why."""


def peer_command(name: str) -> Path:
    """A program of the environment, such as `python` or `inspect`.

    Raises:
        NoPeersError: it cannot be installed here.
    """
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "assay-bench" / f"peers-{digest}"
    if not (folder / "ready").exists():
        _make(folder)
    return folder / "bin" / name


def _make(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    print(f"installing {REQUIREMENTS.name} in {folder} (once; a minute)", file=sys.stderr, flush=True)
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "python"), "-m", "pip", "install", *quiet, "-r", str(REQUIREMENTS)],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoPeersError(f"{type(error).__name__}: {error}") from None
        if done.returncode:
            raise NoPeersError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    (folder / "ready").touch()
