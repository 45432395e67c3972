"""The driver `none`: a command with all rights of the caller. Only for those who asked for it in so many words."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import IO, cast

from pipeline.sandbox.command import CommandOutcome, Ended, SandboxedCommand
from pipeline.sandbox.kept_output import KeptOutput
from pipeline.sandbox.workspace import copy_tree, replace_tree
from pipeline.store.scratch import scratch_folder

_LOOK_EVERY_S = 0.05  # whether it is to be stopped
_GRACE_S = 2.0  # for output that is under way once the command has ended


def run_open(command: SandboxedCommand) -> CommandOutcome:
    """Run it in a copy of its folder, with a deadline, and no other bound; see `run_sandboxed`."""
    with scratch_folder("open") as scratch:
        tree = scratch / "tree"
        tree.mkdir()
        copy_tree(command.workspace, tree)
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                command.argv,
                cwd=tree,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            reason = f"{command.argv[0]!r} cannot be started: {error.strerror}"
            return CommandOutcome(Ended.COULD_NOT_START, reason=reason)
        with process:
            try:
                outcome = _watched(command, process)
            except BaseException:  # this process is interrupted
                _end_group(process)
                raise
        if command.keep_changes:
            with_tree = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
            try:
                replace_tree(with_tree, command.workspace)
            finally:
                os.close(with_tree)
        return outcome._replace(duration_s=time.monotonic() - began)


def _watched(command: SandboxedCommand, process: subprocess.Popen[bytes]) -> CommandOutcome:
    kept, stream = KeptOutput(command.max_output_bytes), cast("IO[bytes]", process.stdout)
    reader = threading.Thread(target=_read, args=(stream, kept), daemon=True)
    reader.start()
    ended, reason = _waited(command, process)
    _end_group(process)
    process.wait()
    reader.join(_GRACE_S)
    outcome = CommandOutcome(ended, output=kept.value(), is_cut=kept.is_cut, reason=reason)
    if ended is not Ended.EXITED:
        return outcome
    if process.returncode < 0:
        return outcome._replace(ended=Ended.SIGNALLED, signal=-process.returncode)
    return outcome._replace(exit_status=process.returncode)


def _waited(command: SandboxedCommand, process: subprocess.Popen[bytes]) -> tuple[Ended, str]:
    """Until it ends, or has to be ended; and why."""
    until = time.monotonic() + command.timeout_s
    while True:
        left_s = until - time.monotonic()
        try:
            process.wait(max(0.0, min(left_s, _LOOK_EVERY_S)))
            return Ended.EXITED, ""
        except subprocess.TimeoutExpired:
            if command.stop is not None and command.stop.is_set():
                return Ended.STOPPED, "it was stopped from outside"
            if left_s <= 0:
                return Ended.TIMED_OUT, f"it was stopped after {command.timeout_s:g} s"


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Its own group alone: without a namespace, a process that left the group cannot be found."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(stream: IO[bytes], kept: KeptOutput) -> None:
    with suppress(OSError, ValueError):
        while data := os.read(stream.fileno(), 2**16):
            kept.add(data)
