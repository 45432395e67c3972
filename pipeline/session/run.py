"""Runs a session: a workspace of its own, the agent in it, and all that it leaves in the store."""

from __future__ import annotations

import asyncio
import signal
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pipeline.models.provider import Provider
from pipeline.models.redacted import Redactor
from pipeline.records.agent_config import AgentConfig
from pipeline.records.audit_names import AgentOutcome, EndReason
from pipeline.records.audit_session import (
    AgentComplete,
    SessionSpawn,
)
from pipeline.records.capture import Capture, EndState
from pipeline.records.report import Producer
from pipeline.records.session import SessionRecord
from pipeline.sandbox import Driver, SandboxedCommand, change_of, profile_of, workspace_of
from pipeline.session.agent.loop import AgentLoop, Ending, Tools
from pipeline.session.agent.recorder import Log
from pipeline.session.log_events import begin_log, end_log, prompt_digest
from pipeline.session.log_writer import AuditLogWriter
from pipeline.session.session_ids import new_session_id
from pipeline.session.session_store import keep_capture, opened_session
from pipeline.session.tools.tool import Effects, ToolOutcome, ToolSetting, failed
from pipeline.session.tools.toolbox import Toolbox, specs_of
from pipeline.store import Store

PRODUCER = "assay"
MAX_REASON_BYTES, MAX_RESULT_BYTES = 200, 16 << 10  # of a child, as its parent's log has them
_OUTCOMES = {
    EndReason.FINISHED: AgentOutcome.FINISHED,
    EndReason.NO_PROGRESS: AgentOutcome.NO_PROGRESS,
    EndReason.BUDGET_REACHED: AgentOutcome.BUDGET,
    EndReason.RATE_LIMITED: AgentOutcome.RATE_LIMITED,
}


class World(NamedTuple):
    """What a session needs of the process that it runs in."""

    version: str
    """Of this program."""
    environment: Mapping[str, str]
    now_ms: Callable[[], int]
    monotonic: Callable[[], float]
    random: Callable[[int], bytes]
    tell: Callable[[str], object] = lambda _line: None
    """Is told how far a session is."""


class Plan(NamedTuple):
    """One session."""

    task: str
    fixture: Path
    base_commit: str
    config: AgentConfig
    model: str
    driver: Driver
    network_hosts: tuple[str, ...] = ()
    spec_sha256: str | None = None


class Outcome(NamedTuple):
    """What became of a session. Its tree is there until the block ends."""

    session: str
    ending: Ending
    n_turns: int
    cost: Mapping[str, float]
    """Currency → what is known to have been spent."""
    n_unpriced: int
    """Requests whose price is not known."""
    log: Path
    tree: Path
    base_commit: str | None
    capture: Capture


@contextmanager
def run_session(plan: Plan, provider: Provider, store: Store, world: World, redactor: Redactor) -> Iterator[Outcome]:
    """Run a session to its end. Ctrl-C ends it as `canceled_by_user`; whatever it left is kept.

    Args:
        plan: the session.
        provider: answers its requests; closed at its end, in the loop in which it was used.
        store: keeps it.
        world: time, chance, environment.
        redactor: takes secrets out of requests, and of what tools give.

    Raises:
        SandboxError: the driver cannot be had here; nothing was begun.
        WorkspaceError: there is no such fixture or commit; nothing was begun.
    """
    with workspace_of(plan.fixture, plan.base_commit) as workspace:
        started = _Started(
            plan, provider, store, world, redactor, workspace.path, workspace.base_commit, threading.Event()
        )
        session = new_session_id(world.now_ms(), world.random(10))
        record = _record_of(plan, plan.config, session, None, workspace.base_commit, world)
        with opened_session(store, record, plan.config) as path:
            with AuditLogWriter(path, session, world.now_ms) as log:
                loop, ending = asyncio.run(_until_stopped(started, session, log))
            capture = _keep(started, plan.config, plan.task, session, loop)
            yield Outcome(
                session, ending, loop.n_turns, loop.spending.amounts, loop.spending.n_unpriced, path, workspace.path,
                workspace.base_commit, capture,
            )  # fmt: skip


class _Started(NamedTuple):
    """A session and what it has in common with its children."""

    plan: Plan
    provider: Provider
    store: Store
    world: World
    redactor: Redactor
    tree: Path
    base_commit: str | None
    stop: threading.Event

    def sandbox_sha256(self) -> str:
        """Digest of the profile in which commands run."""
        command = SandboxedCommand(("true",), self.tree, network_hosts=self.plan.network_hosts)
        return profile_of(command, self.plan.driver, self.world.environment).sha256


async def _until_stopped(started: _Started, session: str, log: Log) -> tuple[AgentLoop, Ending]:
    """The root session, in which both signals end the work and not the process."""
    work = asyncio.current_task()
    assert work is not None
    around = asyncio.get_running_loop()
    with suppress(NotImplementedError, ValueError, RuntimeError):  # not in the main thread
        for number in (signal.SIGINT, signal.SIGTERM):
            around.add_signal_handler(number, _stop, started.stop, work)
    try:
        return await run_agent(started, started.plan.config, started.plan.task, session, "", log, depth=0)
    finally:
        await started.provider.close()


def _stop(stop: threading.Event, work: asyncio.Task[object]) -> None:
    stop.set()
    work.cancel()


async def run_agent(
    started: _Started, config: AgentConfig, task: str, session: str, parent: str, log: Log, *, depth: int
) -> tuple[AgentLoop, Ending]:
    """One agent, root or child: the events around its loop, and the loop."""
    plan = started.plan
    sandbox = (started.sandbox_sha256(), plan.driver)
    begin_log(log, config, task, parent, started.base_commit, plan.model, *sandbox)
    children = _Children(started, config, session, depth)
    setting = ToolSetting(
        started.tree, started.plan.driver, started.world.environment, started.plan.network_hosts,
        config.limits.tool_timeout_s, children.spawn, started.stop,
    )  # fmt: skip
    tools = _Redacting(Toolbox(config.tools, setting), started.redactor)
    loop = AgentLoop(
        config, started.plan.model, specs_of(config.tools), started.provider, tools, log,
        started.world.monotonic, started.redactor.request, _teller(config, started.world),
    )  # fmt: skip
    ending = await _guarded(loop, task)
    end_log(log, loop, ending)
    if ending.reason is EndReason.CANCELED_BY_USER and depth > 0:
        raise asyncio.CancelledError
    return loop, ending


def _teller(config: AgentConfig, world: World) -> Callable[[int, Sequence[str]], None]:
    """Tells of each reply of the model, and how long it took to come so far."""
    began = world.monotonic()

    def tell(number: int, tools: Sequence[str]) -> None:
        of, passed_s = config.limits.max_turns, world.monotonic() - began
        world.tell(
            f"{config.agent_kind}: reply {number} of {of} at most, {passed_s:.1f} s: {', '.join(tools) or 'done'}"
        )

    return tell


async def _guarded(loop: AgentLoop, task: str) -> Ending:
    try:
        return await loop.run(task)
    except asyncio.CancelledError:
        return Ending(EndReason.CANCELED_BY_USER, "interrupted")


class _Redacting:
    """Tools whose results are without secrets, before a model, a log or a capture has them."""

    def __init__(self, tools: Tools, redactor: Redactor) -> None:
        self._tools, self._redactor = tools, redactor

    async def call(self, call_id: str, tool: str, arguments: str, effects: Effects, /) -> ToolOutcome:
        outcome = await self._tools.call(call_id, tool, arguments, effects)
        return outcome._replace(result=self._redactor.text(outcome.result))


class _Children:
    """Runs the children of one session, one at a time: they work in its workspace."""

    def __init__(self, started: _Started, config: AgentConfig, session: str, depth: int) -> None:
        self._started, self._config, self._session, self._depth = started, config, session, depth
        self._n_children = 0

    async def spawn(self, kind: str, task: str, effects: Effects) -> ToolOutcome:
        """Run a child, and give its answer."""
        limits = self._config.limits
        if self._depth >= limits.max_depth:
            return failed(f"helpers of helpers go {limits.max_depth} deep at most")
        if self._n_children >= limits.max_width:
            return failed(f"{limits.max_width} helpers are the most that one session has")
        self._n_children += 1
        started, world = self._started, self._started.world
        child = new_session_id(world.now_ms(), world.random(10))
        effects.append(SessionSpawn(child_session=child, child_agent_kind=kind, reason=_first_line(task)))
        config = self._config.model_copy(update={"agent_kind": kind})
        record = _record_of(started.plan, config, child, self._session, started.base_commit, world)
        with opened_session(started.store, record, config) as path, AuditLogWriter(path, child, world.now_ms) as log:
            loop, ending = await run_agent(started, config, task, child, self._session, log, depth=self._depth + 1)
        _keep(started, config, task, child, loop)
        outcome = _OUTCOMES.get(ending.reason, AgentOutcome.REFUSED)
        result = _bounded(ending.result or ending.detail, MAX_RESULT_BYTES)
        effects.append(
            AgentComplete(
                child_session=child, child_agent_kind=kind, outcome=outcome.value, result=result, scratchpad_path=""
            )
        )
        return ToolOutcome(result, is_error=outcome is not AgentOutcome.FINISHED)


def _record_of(
    plan: Plan, config: AgentConfig, session: str, parent: str | None, base_commit: str | None, world: World
) -> SessionRecord:
    return SessionRecord(
        session=session,
        parent_session=parent,
        agent_kind=config.agent_kind,
        model=plan.model,
        base_commit=base_commit,
        spec_sha256=plan.spec_sha256,
        started=datetime.fromtimestamp(world.now_ms() / 1000, UTC),
        producer=Producer(name=PRODUCER, version=world.version),
    )


def _keep(started: _Started, config: AgentConfig, task: str, session: str, loop: AgentLoop) -> Capture:
    """Put the capture of a session that has ended into the store."""
    change = change_of(started.plan.fixture, started.base_commit, started.tree)
    capture = Capture(
        session=session,
        spec_sha256=started.plan.spec_sha256,
        producer=Producer(name=PRODUCER, version=started.world.version),
        prompt_sha256=prompt_digest(config, task),
        config=config,
        sandbox_sha256=started.sandbox_sha256(),
        sandbox_driver=started.plan.driver.value,
        exchanges=tuple(loop.recorder.exchanges),
        workspace=EndState(
            base_commit=started.base_commit, end_tree=change.end_tree, patch_base64=b64encode(change.patch)
        ),
    )
    keep_capture(started.store, capture)
    return capture


def _first_line(task: str) -> str:
    return _bounded(task.strip().splitlines()[0], MAX_REASON_BYTES)


def _bounded(text: str, n_bytes: int) -> str:
    return text.encode("utf-8", "replace")[:n_bytes].decode("utf-8", "ignore")
