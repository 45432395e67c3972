"""Runs or replays the session of a spec, and has it judged by the evaluator that a check uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.models.provider import Provider
from pipeline.models.redacted import Redactor
from pipeline.records.agent_config import AgentConfig
from pipeline.records.owners import Owner
from pipeline.records.report import Finding, Report
from pipeline.records.trajectory import Trajectory
from pipeline.session.check import CheckOptions, SessionTree, driver_of, judge, refuse_spec_inside
from pipeline.session.evidence import LogEvidence
from pipeline.session.findings import Judged, finding
from pipeline.session.fold import examine_log
from pipeline.session.new_file import check_new_file, write_new_file
from pipeline.session.replay import replay_session
from pipeline.session.replay_capture import parse_capture, read_capture
from pipeline.session.run import Outcome, Plan, World, run_session
from pipeline.session.session_files import REPORT
from pipeline.session.spec_file import LoadedSpec
from pipeline.session.trajectory import make_trajectory
from pipeline.store import Store


class Evaluated(NamedTuple):
    """A session and the report on it."""

    outcome: Outcome
    report: Report
    log: bytes
    """The bytes of its log."""

    def trajectory(self, version: str) -> Trajectory:
        """Log, capture and report in one object."""
        return make_trajectory(self.log, self.outcome.capture, self.report, version=version)


class LiveAgent(NamedTuple):
    """What a session is run with."""

    config: AgentConfig
    model: str
    provider: Provider
    redactor: Redactor


def run_spec(
    loaded: LoadedSpec, agent: LiveAgent, store: Store, world: World, options: CheckOptions, *, overwrite: bool = False
) -> Evaluated:
    """Run the session of a spec, record it, and judge it.

    Args:
        loaded: the spec, for a run.
        agent: what the session is run with.
        store: keeps the session.
        world: time, chance, environment.
        options: as for a check.
        overwrite: whether a capture that is there may be replaced.

    Raises:
        InputError: a capture is there, or the spec lies in the fixture.
        SandboxError: the driver cannot be had here.
        WorkspaceError: there is no such fixture or commit.
    """
    folder = (options.project or loaded.fixture).absolute()
    refuse_spec_inside(loaded.path, folder)
    if loaded.capture is not None:  # before anything is asked of a model
        _make_folder(loaded.capture.parent)
        check_new_file(loaded.capture, overwrite=overwrite)
    spec = loaded.spec
    plan = Plan(
        task=spec.task,
        fixture=folder,
        base_commit=spec.base_commit,
        config=agent.config,
        model=agent.model,
        driver=options.driver or driver_of(spec),
        network_hosts=tuple(spec.sandbox.network_hosts) if spec.sandbox else (),
        spec_sha256=loaded.sha256,
    )
    session = run_session(plan, agent.provider, store, world, agent.redactor)
    with _recorded(session, loaded.capture, overwrite=overwrite) as recorded:
        return _judged(recorded, loaded, folder, store, options)


@contextmanager
def _recorded(session: AbstractContextManager[Outcome], path: Path | None, *, overwrite: bool) -> Iterator[Outcome]:
    """A session whose capture is where the spec wants it, before its tests take their time."""
    with session as outcome:
        try:
            if path is not None:
                write_new_file(path, outcome.capture.to_bytes(), overwrite=overwrite)
        except InputError as error:  # such as another run that was quicker
            raise InputError(f"{error}; session {outcome.session} is kept in the store, with its capture") from None
        yield outcome


def replay_spec(loaded: LoadedSpec, store: Store, world: World, options: CheckOptions) -> Evaluated:
    """Replay the session of a spec from its capture alone, and judge it.

    Raises:
        InputError: there is no capture, or the spec lies in the fixture.
        ReplayError: the capture is not whole, or does not answer the session.
    """
    folder = (options.project or loaded.fixture).absolute()
    refuse_spec_inside(loaded.path, folder)
    path = loaded.capture
    assert path is not None  # a spec for a replay has one
    capture = read_capture(path, loaded)
    replayed = replay_session(capture, loaded.spec.task, folder, store, world)
    with replayed as outcome:
        return _judged(outcome, loaded, folder, store, options)


def _judged(outcome: Outcome, loaded: LoadedSpec, folder: Path, store: Store, options: CheckOptions) -> Evaluated:
    evidence = LogEvidence(*examine_log(outcome.log))
    left = SessionTree(folder, outcome.tree)
    report = judge(loaded, evidence, left, options, outcome.session, _about_capture(outcome))
    store.create(f"sessions/{outcome.session}/{REPORT}", report.to_bytes())
    return Evaluated(outcome, report, outcome.log.read_bytes())


def _about_capture(outcome: Outcome) -> Iterator[Finding]:
    """That the capture can be read again, and that all of it was used: a replay that is refused has no report."""
    parse_capture(outcome.capture.to_bytes(), "capture")
    number = len(outcome.capture.exchanges)
    yield finding("capture.integrity", Owner.HARNESS, "intact", Judged(True, "intact"))
    yield finding("capture.consumed", Owner.HARNESS, number, Judged(True, number))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: the folder of the capture cannot be made: {error.strerror}") from None
