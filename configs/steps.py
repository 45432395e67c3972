"""The steps of a demo: commands that are shown as one would type them, then run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

CONFIGS = Path(__file__).resolve().parent


def shown(path: str | Path) -> str:
    """A path as one would type it here."""
    return os.path.relpath(path)


ASSAY = shown(Path(sys.executable).with_name("assay"))


def step(title: str, *command: str, expected: int = 0, to: Path | None = None) -> None:
    """Show a command, run it, and show its exit status where that is not 0.

    Args:
        title: what it shows.
        command: the words of it.
        expected: the exit status that it has if all is well.
        to: the file that takes what it prints.

    Raises:
        SystemExit: it ended with another status than expected, and this ends with that one.
    """
    target = f" > {shown(to)}" if to else ""
    print(f"\n== {title}\n$ {shlex.join(command)}{target}", flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE if to else None)
    if to is not None:
        to.write_bytes(done.stdout)
    if done.returncode != expected:
        sys.exit(done.returncode or f"expected exit status {expected}, found 0")
    if expected:
        print(f"(exit status {expected})", flush=True)
