"""Every exit status of `assay`, and the one place that turns an error into a line on stderr and a status."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

from pipeline import errors
from pipeline.cli.interruption import INTERRUPTED

DEBUG_VARIABLE = "ASSAY_DEBUG"  # 1: show the traceback too


class ExitCode(IntEnum):
    """What a status means. Failed rows alone do not change it."""

    DONE = 0
    BAD_INPUT = 1
    """Usage, a file, a config, an id: something of the user's."""
    FAULT = 2
    """A store, a cluster, a run that failed, or a defect of ours."""
    GATE_NOT_MET = 3
    """`--fail-under`, a failed finding, a regression."""
    NOT_ENOUGH = 4
    """No row was scored, or a report is no evidence about the model, so that nothing can be said."""
    AUDIT_GAP = 9
    """The log of a session cannot be verified; wins over a failed finding."""
    INTERRUPTED = INTERRUPTED
    """Stopped by the user, and resumable."""


_HELP = "Usage:"  # what typer raises as an error where a command was left out
_FAULTS = (
    errors.StoreError,
    errors.EngineError,
    errors.SandboxError,
    errors.ReplayError,
    errors.FailingRunError,
    errors.EvaluationRunFailedError,
)
_OURS = tuple(str(Path(__file__).resolve().parents[level] / name) for level, name in ((1, ""), (2, "scorers")))


def guarded(command: Callable[[], object]) -> int:
    """Run a command and return its exit status; an error becomes one line on stderr."""
    try:
        result = command()
        sys.stdout.flush()
        return int(result) if isinstance(result, int) else ExitCode.DONE
    except KeyboardInterrupt:
        tell("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _had_enough()
    except SystemExit as end:  # typer's own way to end, also where the pipe broke inside a command
        return _had_enough() if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)
    except Exception as error:  # noqa: BLE001 - the border of the program
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        message = message_of(error)
        if message.startswith(_HELP):
            print(message, file=sys.stderr)
        else:
            tell(message)
        return status_of(error)


def _had_enough() -> int:
    """Whoever reads, such as `head`, has gone; Python would complain once more when it closes stdout."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    return ExitCode.DONE


def status_of(error: BaseException) -> ExitCode:
    """The exit status that an error stands for."""
    if isinstance(error, errors.InterruptedRunError):
        return ExitCode.INTERRUPTED
    if isinstance(error, errors.NoRowsError):
        return ExitCode.NOT_ENOUGH
    if isinstance(error, _FAULTS):
        return ExitCode.FAULT
    if isinstance(error, errors.AssayError) or _is_usage(error) or _is_raised_by_us(error):
        return ExitCode.BAD_INPUT
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:  # of a path that was given
        return ExitCode.BAD_INPUT
    return ExitCode.FAULT


def message_of(error: BaseException) -> str:
    """What the user is told: found, expected, what to do."""
    if _is_usage(error):
        return _usage_message(error)
    if isinstance(error, errors.AssayError) or _is_raised_by_us(error):
        return str(error) or type(error).__name__
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
    return f"unexpected {type(error).__name__}: {error} (a defect of assay: {DEBUG_VARIABLE}=1 shows where)"


def tell(message: str) -> None:
    """Write a message for the user to stderr."""
    print(f"assay: {message}", file=sys.stderr, flush=True)


def _is_usage(error: BaseException) -> bool:
    """Whether typer could not make sense of the command line; its own class for that is private."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _usage_message(error: BaseException) -> str:
    message: str = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    if context is None or message.startswith(_HELP):
        return message
    return f"{message.rstrip('.')}. Try '{context.command_path} --help'."


def _is_raised_by_us(error: BaseException) -> bool:
    """Whether a ValueError or TypeError was raised on purpose: by our code itself, not by a library below it."""
    if not isinstance(error, ValueError | TypeError) or error.__traceback__ is None:
        return False
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    return innermost.filename.startswith(_OURS) and (innermost.line or "").lstrip().startswith("raise")
