"""Replays a session: a fresh one that is answered from its capture, and leaves the same log but for times and ids."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pipeline.errors import WorkspaceError
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
from pipeline.session.session_ids import new_session_id
from pipeline.session.session_store import keep_capture, opened_session
from pipeline.session.tools.toolbox import specs_of
from pipeline.store import Store


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
    with _end_state(capture, fixture) as workspace, opened_session(store, record, capture.config) as path:
        with AuditLogWriter(path, session, world.now_ms) as log:
            loop, ending = repeat_session(capture, task, log, world)
        again = capture.model_copy(update={"session": session})
        keep_capture(store, again)
        yield Outcome(
            session, ending, loop.n_turns, loop.spending.amounts, loop.spending.n_unpriced, path, workspace.path,
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
    answers = CapturedAnswers(capture, world.version)
    agent = Agent(capture.session, task, config)
    begin_log(log, agent, capture.workspace.base_commit, model, *_sandbox(capture))
    loop = AgentLoop(agent, model, specs_of(config.tools), answers, answers, log, answers, Standing.at_first(config))
    ending = asyncio.run(loop.run(task))
    answers.check_all_used()
    end_log(log, loop, ending)
    return loop, ending


@contextmanager
def _end_state(capture: Capture, fixture: Path) -> Iterator[Workspace]:
    end = capture.workspace
    made = changed_workspace(fixture, end.base_commit, end.patch_base64, end.end_tree)
    try:
        workspace = made.__enter__()
    except WorkspaceError as error:
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
    return capture.sandbox_sha256, Driver(capture.sandbox_driver)
