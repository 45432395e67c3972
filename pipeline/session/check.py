"""Checks a session that is already there: gathers the evidence about it, and has it judged. Contacts no provider."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError, SandboxError, WorkspaceError
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.report import Finding, Report
from pipeline.sandbox import Driver, changed_workspace, check_driver
from pipeline.session.command_evidence import CommandSetting, run_commands
from pipeline.session.evaluate import evaluate
from pipeline.session.evidence import CommandResult, LogEvidence, TreeEvidence
from pipeline.session.fold import examine_log
from pipeline.session.session_files import SessionLog
from pipeline.session.spec_file import LoadedSpec
from pipeline.session.tree_evidence import MAX_LINKS, look_at_tree


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


class SessionTree(NamedTuple):
    """What a session left, and where it began."""

    fixture: Path
    """Whose commits are looked at."""
    tree: Path
    """The same where the session worked in the fixture itself."""
    problem: str = ""
    """Why there is no tree; empty: there is."""


def check_session(loaded: LoadedSpec, log: SessionLog, options: CheckOptions) -> Report:
    """Judge a session by its log, the tree that it left, and the spec's commands.

    Raises:
        InputError: the spec lies in the tree that it judges.
        SandboxError: there are commands to be run, and the driver cannot be had here.
        WorkspaceError: git is needed and not installed.
    """
    folder = (options.project or loaded.fixture).absolute()
    refuse_spec_inside(loaded.path, folder)
    _check_driver(loaded.spec, options)  # before a log of gigabytes is read
    evidence = LogEvidence(*examine_log(log.path))
    with _tree_of(folder, log, evidence, options) as left:
        return judge(loaded, evidence, left, options, log.session)


def judge(
    loaded: LoadedSpec,
    evidence: LogEvidence,
    left: SessionTree,
    options: CheckOptions,
    session: str | None,
    first: Iterable[Finding] = (),
) -> Report:
    """Look at a tree, run the spec's commands on it, and make the report.

    Args:
        loaded: the spec.
        evidence: the log, verified and folded.
        left: what the session left.
        options: how it is checked.
        session: the id by which the session is known; None: the one that its log names.
        first: findings of whoever made the session, such as those about its capture.

    Raises:
        SandboxError: there are commands to be run, and the driver cannot be had here.
        WorkspaceError: git is needed and not installed.
    """
    spec = loaded.spec
    began = evidence.facts.base_commits if evidence.facts is not None else ()
    tree = (
        TreeEvidence(str(left.fixture), problem=left.problem)
        if left.problem
        else look_at_tree(spec, left.fixture, began, left.tree)
    )
    results: Sequence[CommandResult] | None = None if options.skip_tests else ()
    if _has_commands(spec, options) and not tree.problem:
        base, driver = _base_of_tests(spec, tree, began), options.driver or driver_of(spec)
        with _told_of_skipping():
            results = run_commands(spec, CommandSetting(left.fixture, left.tree, base, driver, options.environment))
    return evaluate(
        spec, evidence, tree, results, spec_sha256=loaded.sha256, version=options.version, session=session, first=first
    )


@contextmanager
def _tree_of(folder: Path, log: SessionLog, evidence: LogEvidence, options: CheckOptions) -> Iterator[SessionTree]:
    """The folder itself; for a session of a store the tree to which its patch leads."""
    if log.is_cut_off and options.project is None:
        yield SessionTree(
            folder,
            folder,
            "what the session left was not kept, for it was cut off or its disk was full: its tree is not known",
        )
        return
    if log.patch is None or options.project is not None or not folder.is_dir():  # which is told as such
        yield SessionTree(folder, folder)
        return
    began = evidence.facts.base_commits if evidence.facts is not None else ()
    if not began:
        yield SessionTree(folder, folder, "the log does not tell at which commit the session began")
        return
    with ExitStack() as stack:
        try:
            tree = stack.enter_context(changed_workspace(folder, began[-1] or None, log.patch)).path
        except WorkspaceError as error:
            yield SessionTree(folder, folder, f"the tree that the session left cannot be made again: {error}")
            return
        yield SessionTree(folder, tree)


def _has_commands(spec: EvalSpec, options: CheckOptions) -> bool:
    return bool(spec.tests) and not options.skip_tests


def _check_driver(spec: EvalSpec, options: CheckOptions) -> None:
    if _has_commands(spec, options):
        with _told_of_skipping():
            check_driver(options.driver or driver_of(spec), options.environment)


@contextmanager
def _told_of_skipping() -> Iterator[None]:
    """Say of a sandbox that cannot be had what can be done without one."""
    try:
        yield
    except SandboxError as error:
        raise SandboxError(f"{error}; --skip-tests checks everything but the spec's commands") from None


def driver_of(spec: EvalSpec) -> Driver:
    """The sandbox driver that a spec asks for: its `sandbox.driver`, else the one it expects, else native."""
    asked = (spec.sandbox and spec.sandbox.driver) or spec.expect.sandbox_driver
    return Driver(asked.value) if asked else Driver.NATIVE


def _base_of_tests(spec: EvalSpec, tree: TreeEvidence, began: Sequence[str]) -> str | None:
    """The commit whose files judge. A HEAD that has moved since may hold what the agent committed."""
    if spec.base_commit == "HEAD":
        return next((commit for commit in began if commit in tree.known_commits), tree.base_commit)
    return tree.base_commit


def refuse_spec_inside(spec: Path, folder: Path) -> None:
    """An agent that works in the folder could have changed what judges it, or a link on the way to it.

    Raises:
        InputError: the spec lies in the folder.
    """
    tree = Path(os.path.realpath(folder))
    if any(place.is_relative_to(tree) and place != tree for place in _places_on_the_way(spec)):
        raise InputError(
            f"{spec} lies in the fixture {folder}, where an agent could change what judges it; move it out of there"
        )


def _places_on_the_way(path: Path) -> Iterator[Path]:
    """Each file, folder and link through which a path leads, as where it really stands."""
    whole = path.absolute()
    left, here, n_links = list(whole.parts[1:]), Path(whole.anchor), 0
    while left and n_links <= MAX_LINKS:
        step = left.pop(0)
        if step == "..":
            here = here.parent
            continue
        place = here / step
        yield place
        if os.path.islink(place):
            n_links += 1
            target = Path(os.readlink(place))
            left = [*target.parts[bool(target.anchor) :], *left]
            here = Path(target.anchor) if target.anchor else here
        else:
            here = place
