"""Checks a session that is already there: gathers the evidence about it, and has it judged. Contacts no provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.report import Report
from pipeline.sandbox import Driver, check_driver
from pipeline.session.command_evidence import CommandSetting, run_commands
from pipeline.session.evaluate import evaluate
from pipeline.session.evidence import CommandResult, LogEvidence, TreeEvidence
from pipeline.session.fold import examine_log
from pipeline.session.session_files import SessionLog
from pipeline.session.spec_file import LoadedSpec
from pipeline.session.tree_evidence import look_at_tree


class CheckOptions(NamedTuple):
    """How a session is checked."""

    version: str
    """Of this program."""
    environment: Mapping[str, str]
    """Of this process; `ASSAY_UNSAFE_NO_SANDBOX=1` allows the driver `none`."""
    project: Path | None = None
    """In place of the spec's fixture."""
    driver: Driver | None = None
    """In place of the spec's sandbox driver."""
    skip_tests: bool = False


def check_session(loaded: LoadedSpec, log: SessionLog, options: CheckOptions) -> Report:
    """Judge a session by its log, the tree that it left, and the spec's commands.

    Raises:
        InputError: the spec lies in the tree that it judges, or the session's tree is kept as a patch alone.
        SandboxError: there are commands to be run, and the driver cannot be had here.
        WorkspaceError: git is needed and not installed.
    """
    spec, folder = loaded.spec, (options.project or loaded.fixture).absolute()
    _refuse_spec_inside(loaded.path, folder)
    if log.has_patch and options.project is None:
        raise InputError(
            f"session {log.session} keeps what it changed as end.patch; "
            "name a tree in which it is applied with --project"
        )
    has_commands = bool(spec.tests) and not options.skip_tests
    driver = options.driver or driver_of(spec)
    if has_commands:
        check_driver(driver, options.environment)  # before a log of gigabytes is read
    evidence = LogEvidence(*examine_log(log.path))
    began = evidence.facts.base_commits if evidence.facts is not None else ()
    tree = look_at_tree(spec, folder, began)
    results: Sequence[CommandResult] | None = None if options.skip_tests else ()
    if has_commands and not tree.problem:
        setting = CommandSetting(folder, _base_of_tests(spec, tree, began), driver, options.environment)
        results = run_commands(spec, setting)
    return evaluate(
        spec, evidence, tree, results, spec_sha256=loaded.sha256, version=options.version, session=log.session
    )


def driver_of(spec: EvalSpec) -> Driver:
    """The sandbox driver that a spec asks for: its `sandbox.driver`, else the one it expects, else native."""
    asked = (spec.sandbox and spec.sandbox.driver) or spec.expect.sandbox_driver
    return Driver(asked.value) if asked else Driver.NATIVE


def _base_of_tests(spec: EvalSpec, tree: TreeEvidence, began: Sequence[str]) -> str | None:
    """The commit whose files judge. A HEAD that has moved since may hold what the agent committed."""
    if spec.base_commit == "HEAD":
        return next((commit for commit in began if commit in tree.known_commits), tree.base_commit)
    return tree.base_commit


def _refuse_spec_inside(spec: Path, folder: Path) -> None:
    """An agent that works in the folder could have changed what judges it."""
    if spec.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{spec} lies in the fixture {folder}, where an agent could change what judges it; move it out of there"
        )
