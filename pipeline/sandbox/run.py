"""The door to the sandbox: one command, one outcome."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pipeline.errors import InputError, WorkspaceError
from pipeline.sandbox.command import CommandOutcome, SandboxedCommand
from pipeline.sandbox.drivers import Driver, check_driver
from pipeline.sandbox.hosts import checked_hosts

MAX_ARGV_BYTES = 120_000  # the kernel takes at most 128 KiB in one argument


def run_sandboxed(
    command: SandboxedCommand, *, driver: Driver = Driver.NATIVE, environment: Mapping[str, str] | None = None
) -> CommandOutcome:
    """Run a command in isolation, and wait until none of its processes is left.

    Args:
        environment: of this process, for what it allows; the command sees none of it. None: `os.environ`.

    Returns:
        How it ended: a command that fails, hangs, or cannot be started is no error of this call.

    Raises:
        SandboxError: it cannot be isolated here; nothing was run.
        InputError: the command itself makes no sense: no program, NUL in an argument, a host that is none.
        WorkspaceError: the folder cannot be copied into the sandbox, or out of it.
    """
    check_driver(driver, os.environ if environment is None else environment)
    _check(command)
    # Imported here: who runs no command does not wait for it.
    if driver is Driver.NONE:
        from pipeline.sandbox.open_run import run_open

        return run_open(command)
    from pipeline.sandbox.native import run_native

    return run_native(command, os.environ if environment is None else environment)


def _check(command: SandboxedCommand) -> None:
    argv = command.argv
    if isinstance(argv, str) or not argv or not argv[0]:
        raise InputError(f"argv is {argv!r}; expected a list that begins with a program, such as make or python3")
    for argument in argv:
        if "\0" in argument:
            raise InputError(f"argv holds NUL in {argument[:40]!r}, which no program can be given")
    if sum(len(os.fsencode(argument)) + 1 for argument in argv) > MAX_ARGV_BYTES:
        raise InputError(f"argv is longer than {MAX_ARGV_BYTES:,} bytes")
    if not command.timeout_s > 0:
        raise InputError(f"timeout_s is {command.timeout_s}; expected more than 0")
    if not command.workspace.is_dir():
        raise WorkspaceError(f"{command.workspace} is no folder; expected one that the command can work in")
    for tool in command.tools:
        if not tool.is_absolute() or not tool.is_dir():
            raise InputError(f"tools: {tool} is no folder; expected the absolute path of one")
    checked_hosts(command.network_hosts)
