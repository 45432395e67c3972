"""Replays a session: a fresh one that is answered from its capture, and leaves the same log but for times and ids."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pipeline.errors import InputError, WorkspaceError
from pipeline.models.redacted import Redactor, secret_values
from pipeline.records.capture import Capture
from pipeline.records.refusals import ReplayRefusal
from pipeline.records.report import Producer
from pipeline.records.session import SessionRecord
from pipeline.sandbox import Driver, Workspace, changed_workspace
from pipeline.session.agent.children import Agent
from pipeline.session.agent.ending import Ending
from pipeline.session.agent.loop import AgentLoop
from pipeline.session.agent.recorder import Log
from pipeline.session.agent.standing import Standing
from pipeline.session.captured import CapturedAnswers
from pipeline.session.log_events import begin_log, end_log, prompt_digest
from pipeline.session.log_writer import AuditLogWriter
from pipeline.session.replay_capture import refused
from pipeline.session.run import PRODUCER, Outcome, World
from pipeline.session.session_files import LOG
from pipeline.session.session_ids import new_session_id
from pipeline.session.session_store import keep_capture, opened_session
from pipeline.session.tools.toolbox import TOOLS, specs_of
from pipeline.store import Store
from pipeline.store.scratch import scratch_folder


@contextmanager
def replay_session(capture: Capture, task: str, fixture: Path, store: Store, world: World) -> Iterator[Outcome]:
    """Replay a session. Neither a provider nor a tool is there; the fixture is only read.

    Args:
        capture: what was recorded.
        task: of the spec.
        fixture: where the session began.
        store: keeps the new session.
        world: time, chance, environment.

    Raises:
        ReplayError: the capture does not answer the session.
    """
    session = new_session_id(world.now_ms(), world.random(10))
    record = _record(capture, session, world)
    with _end_state(capture, fixture) as workspace, scratch_folder("log") as scratch:
        with AuditLogWriter(scratch / LOG, session, world.now_ms) as log:
            loop, ending = repeat_session(capture, task, log, world)
        yield from _kept(scratch / LOG, record, loop, ending, capture, store, workspace)


def _kept(
    log: Path, record: SessionRecord, loop: AgentLoop, ending: Ending, capture: Capture, store: Store, tree: Workspace
) -> Iterator[Outcome]:
    """A session that was not refused, in the store: one that was leaves nothing there."""
    session = record.session
    with opened_session(store, record, capture.config) as path:
        shutil.copyfile(log, path)
        again = capture.model_copy(update={"session": session})
        keep_capture(store, again)
        yield Outcome(
            session, ending, loop.n_turns, loop.spending.amounts, loop.spending.n_unpriced, path, tree.path,
            capture.workspace.base_commit, again,
        )  # fmt: skip


def repeat_session(capture: Capture, task: str, log: Log, world: World) -> tuple[AgentLoop, Ending]:
    """Go through a session again, answered from its capture; its events go to a log.

    Raises:
        ReplayError: the capture does not answer it, or holds more than it asks for.
    """
    if capture.prompt_sha256 != prompt_digest(capture.config, task):
        raise refused(ReplayRefusal.DIVERGED, "prompt_sha256: the task or the system prompt is another one")
    config, model = capture.config, str(capture.config.provider.get("model", ""))
    if unknown := [name for name in config.tools if name not in TOOLS]:
        raise refused(ReplayRefusal.DIVERGED, f"config.tools: this version has no tool {unknown[0]!r}")
    task = Redactor(secret_values(world.environment)).text(task)  # as it was asked, and is logged
    try:
        return _repeated(capture, Agent(capture.session, task, config), model, log, world)
    except InputError as error:
        raise refused(ReplayRefusal.DIVERGED, str(error)) from None


def _repeated(capture: Capture, agent: Agent, model: str, log: Log, world: World) -> tuple[AgentLoop, Ending]:
    config = agent.config
    answers = CapturedAnswers(capture, world.version)
    begin_log(log, agent, capture.workspace.base_commit, model, *_sandbox(capture))
    loop = AgentLoop(agent, model, specs_of(config.tools), answers, answers, log, answers, Standing.at_first(config))
    ending = asyncio.run(loop.run(agent.task))
    answers.check_all_used(ending)
    end_log(log, loop, ending)
    return loop, ending


@contextmanager
def _end_state(capture: Capture, fixture: Path) -> Iterator[Workspace]:
    end = capture.workspace
    made = changed_workspace(fixture, end.base_commit, end.patch_base64, end.end_tree)
    try:
        workspace = made.__enter__()
    except (WorkspaceError, InputError) as error:
        raise refused(ReplayRefusal.WORKSPACE, str(error)) from None
    try:
        yield workspace
    finally:
        made.__exit__(None, None, None)


def _record(capture: Capture, session: str, world: World) -> SessionRecord:
    return SessionRecord(
        session=session,
        parent_session=None,
        agent_kind=capture.config.agent_kind,
        model=str(capture.config.provider.get("model", "")),
        base_commit=capture.workspace.base_commit,
        spec_sha256=capture.spec_sha256,
        started=datetime.fromtimestamp(world.now_ms() / 1000, UTC),
        producer=Producer(name=PRODUCER, version=world.version),
    )


def _sandbox(capture: Capture) -> tuple[str, Driver]:
    try:
        return capture.sandbox_sha256, Driver(capture.sandbox_driver)
    except ValueError:
        message = f"sandbox_driver: there is no driver {capture.sandbox_driver!r}"
        raise refused(ReplayRefusal.DIVERGED, message) from None
