"""Runs the test commands of a spec: in a fresh sandbox each, on a copy of the agent's tree, with the base's tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError, WorkspaceError
from pipeline.records.eval_spec import EvalSpec, TestCommand
from pipeline.sandbox import (
    CommandOutcome,
    Driver,
    Ended,
    SandboxedCommand,
    commit_paths,
    restore_files,
    run_sandboxed,
    workspace_copy,
    workspace_of,
)
from pipeline.session.evidence import CommandResult
from pipeline.session.named_files import absent_files, lacks_files, never_there

MAX_OUTPUT_BYTES = 64 << 10  # of one command: what a report keeps of it
_STOPPED = frozenset({Ended.TIMED_OUT, Ended.OUT_OF_MEMORY})


class CommandSetting(NamedTuple):
    """What the commands are run on, and how."""

    fixture: Path
    """Whose commits the files that judge are restored from."""
    tree: Path
    """The tree that the session left."""
    base_commit: str | None
    """The commit from which the files that judge are restored; None: there is none."""
    driver: Driver
    environment: Mapping[str, str]
    """Of this process."""


def run_commands(spec: EvalSpec, setting: CommandSetting) -> tuple[CommandResult, ...]:
    """Run every test command of a spec; one that cannot be run is a result as well.

    Raises:
        SandboxError: the driver cannot be had here; nothing was run.
    """
    if not spec.tests:
        return ()
    try:
        with workspace_copy(setting.tree) as copy:
            problem = _restore(spec, setting, copy.path)
            if problem:  # not the agent's doing, whatever the fixture would say
                return tuple(CommandResult(test.name, not_started=problem) for test in spec.tests)
            return tuple(_run_on(test, spec, setting, copy.path) for test in spec.tests)
    except WorkspaceError as error:  # the tree cannot be copied, such as one that the agent has filled
        return tuple(_not_started(test, spec, setting, str(error)) for test in spec.tests)


def _restore(spec: EvalSpec, setting: CommandSetting, tree: Path) -> str:
    """Make the files that judge those of the base commit; why that cannot be done, or nothing."""
    if not spec.test_files:
        return ""
    if setting.base_commit is None:
        return "test_files are restored from base_commit, and the fixture has no such commit"
    try:
        restore_files(tree, setting.fixture, setting.base_commit, spec.test_files)
    except WorkspaceError as error:
        return str(error)
    return ""


def _run_on(test: TestCommand, spec: EvalSpec, setting: CommandSetting, tree: Path) -> CommandResult:
    paths = _paths_of_base(setting) if lacks_files(test.argv, tree) else None
    if why := never_there(test.argv, spec, paths):
        return CommandResult(test.name, not_started=why, starts_on_fixture=False)
    try:
        outcome = _run(test, spec, setting, tree)
    except (WorkspaceError, InputError) as error:
        return _not_started(test, spec, setting, str(error))
    if outcome.ended is Ended.COULD_NOT_START:
        return _not_started(test, spec, setting, outcome.reason or "no reason is known")
    result = _result(test, spec, outcome)._replace(is_sandboxed=setting.driver is not Driver.NONE)
    if result.exit_status in (None, 0):
        return result
    return result._replace(absent=absent_files(test.argv, tree, paths))


def _paths_of_base(setting: CommandSetting) -> frozenset[str] | None:
    """Of the commit from which the session began; None: there is none to look at."""
    try:
        return None if setting.base_commit is None else commit_paths(setting.fixture, setting.base_commit)
    except (WorkspaceError, InputError):
        return None


def _not_started(test: TestCommand, spec: EvalSpec, setting: CommandSetting, reason: str) -> CommandResult:
    return CommandResult(test.name, not_started=reason, starts_on_fixture=_starts(test, spec, setting))


def _starts(test: TestCommand, spec: EvalSpec, setting: CommandSetting) -> bool | None:
    """Whether a command can be started on the untouched fixture; None: there is none to try."""
    if setting.base_commit is None:
        return None
    try:
        with workspace_of(setting.fixture, setting.base_commit) as fixture:
            return _run(test, spec, setting, fixture.path).ended is not Ended.COULD_NOT_START
    except (WorkspaceError, InputError):
        return False


def _run(test: TestCommand, spec: EvalSpec, setting: CommandSetting, tree: Path) -> CommandOutcome:
    command = SandboxedCommand(
        argv=test.argv,
        workspace=tree,
        timeout_s=spec.limits.test_timeout_s,
        max_output_bytes=MAX_OUTPUT_BYTES,
    )
    return run_sandboxed(command, driver=setting.driver, environment=setting.environment)


def _result(test: TestCommand, spec: EvalSpec, outcome: CommandOutcome) -> CommandResult:
    is_exited = outcome.ended is Ended.EXITED
    return CommandResult(
        test.name,
        exit_status=outcome.exit_status if is_exited else None,
        signal=outcome.signal,
        stopped=outcome.ended.value.replace("_", " ") if outcome.ended in _STOPPED else "",
        output=f"{outcome.reason}\n{outcome.text}".strip() if outcome.reason else outcome.text,
        is_cut=outcome.is_cut,
        is_protected=bool(spec.test_files),
    )
