"""Runs a benchmark's commands in processes of their own: none inherits threads or caches of another."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Done(NamedTuple):
    """A command that ended well."""

    stdout: str
    cpu_s: float
    """User and system time of the process and of the children that it waited for."""


def run(command: Sequence[str | Path]) -> Done:
    """Run a command to its end.

    Raises:
        SystemExit: it failed; its stderr has been shown.
    """
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        stdout = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} … ended with status {process.returncode}")
    return Done(stdout, usage.ru_utime + usage.ru_stime)


def figures(script: str, *arguments: str | Path) -> dict[str, float]:
    """What one of the scripts of this folder printed."""
    return dict(json.loads(run([sys.executable, FOLDER / script, *arguments]).stdout.strip().splitlines()[-1]))
