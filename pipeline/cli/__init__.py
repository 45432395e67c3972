"""The command `assay`. Reads arguments, calls `pipeline`, shows what came back; computes nothing."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line (None: the process's own) and return its exit status."""
    from pipeline.cli.app import run_command_line

    return run_command_line(arguments)
