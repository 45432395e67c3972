"""The command `assay`. Reads arguments, calls `pipeline`, shows what came back; computes nothing."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line (None: the process's own) and return its exit status."""
    from pipeline.cli.interruption import INTERRUPTED, hear_nothing_at_the_very_end, interruptible, leave_quietly

    if arguments is None:
        hear_nothing_at_the_very_end()
        _show_what_cannot_be_written()
    try:
        with interruptible():
            from pipeline.cli.app import run_command_line

            status = run_command_line(arguments)
    except KeyboardInterrupt:  # while the command line itself was loaded
        status = INTERRUPTED
    if arguments is None:
        leave_quietly(status)
    return status


def _show_what_cannot_be_written() -> None:
    """Signs that the locale's encoding does not have are shown as `\\x…`; Python would give up in the middle."""
    import io
    import sys

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
