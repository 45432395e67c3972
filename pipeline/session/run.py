"""Runs a session: a workspace of its own, the agent in it, and all that it leaves in the store."""

from __future__ import annotations

import asyncio
import signal
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pipeline.formats.whole_text import whole_text
from pipeline.models.provider import Provider
from pipeline.models.redacted import Redactor
from pipeline.records.agent_config import AgentConfig
from pipeline.records.audit_names import EndReason
from pipeline.records.capture import Capture, EndState, Stopped
from pipeline.records.report import Producer
from pipeline.records.session import SessionRecord
from pipeline.sandbox import (
    Driver,
    SandboxedCommand,
    change_of,
    changed_workspace,
    profile_of,
    workspace_of,
)
from pipeline.sandbox.hosts import checked_hosts
from pipeline.session.agent.children import Agent, ChildEnd, Children
from pipeline.session.agent.ending import Ending
from pipeline.session.agent.loop import AgentLoop, Tools
from pipeline.session.agent.recorder import Log
from pipeline.session.agent.standing import Standing
from pipeline.session.agent.stopping import Deadline, Stop
from pipeline.session.log_events import begin_log, end_log, prompt_digest
from pipeline.session.log_writer import AuditLogWriter
from pipeline.session.preparation import kept_beginning, own_handlers, refuse_store_inside, without_secrets
from pipeline.session.progress_lines import error_teller, reply_teller
from pipeline.session.session_ids import new_session_id
from pipeline.session.session_store import keep_capture, opened_session
from pipeline.session.tools.tool import Effects, ToolOutcome, ToolSetting
from pipeline.session.tools.toolbox import Toolbox, specs_of
from pipeline.store import Store

PRODUCER = "assay"


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
        InputError: what is granted is no host; nothing was begun.
    """
    checked_hosts(plan.network_hosts)
    refuse_store_inside(plan.fixture, store)
    sandbox = _sandbox_digest(plan, world.environment)
    task, config = whole_text(plan.task), without_secrets(plan.config, redactor)
    with workspace_of(plan.fixture, plan.base_commit) as workspace, kept_beginning(plan.fixture, workspace) as base:
        base_commit = workspace.base_commit
        started = _Started(plan, provider, store, world, redactor, workspace.path, base, base_commit, Stop(), sandbox)
        agent = Agent(new_session_id(world.now_ms(), world.random(10)), task, config)
        with opened_session(store, _record_of(started, agent), config) as path:
            with AuditLogWriter(path, agent.session, world.now_ms) as log, own_handlers():
                loop, ending = asyncio.run(_until_stopped(started, agent, log))
            capture = _keep(started, agent, loop, ending)
            end = capture.workspace
            # What is judged is what is kept: a tree can hold what no patch does, such as a folder .git in a folder.
            with changed_workspace(base, base_commit, end.patch_base64, end.end_tree) as kept:
                yield Outcome(
                    agent.session, ending, loop.n_turns, loop.spending.amounts, loop.spending.n_unpriced, path,
                    kept.path, base_commit, capture,
                )  # fmt: skip


class _Started(NamedTuple):
    """A session and what it has in common with its children."""

    plan: Plan
    provider: Provider
    store: Store
    world: World
    redactor: Redactor
    tree: Path
    base: Path
    """What changes are told against."""
    base_commit: str | None
    stop: Stop
    sandbox_sha256: str
    """Digest of the profile in which commands run."""


def _sandbox_digest(plan: Plan, environment: Mapping[str, str]) -> str:
    command = SandboxedCommand(("true",), plan.fixture, network_hosts=plan.network_hosts)
    return profile_of(command, plan.driver, environment).sha256


async def _until_stopped(started: _Started, agent: Agent, log: Log) -> tuple[AgentLoop, Ending]:
    """The root session, in which both signals end the work and not the process."""
    work = asyncio.current_task()
    assert work is not None
    around = asyncio.get_running_loop()
    with suppress(NotImplementedError, ValueError, RuntimeError):  # not in the main thread
        for number in (signal.SIGINT, signal.SIGTERM):
            around.add_signal_handler(number, _stop, started, work)
    try:
        return await run_agent(started, agent, log)
    finally:
        await started.provider.close()


def _stop(started: _Started, work: asyncio.Task[object]) -> None:
    """End what is under way in good order; whoever asks again is not made to wait for it."""
    if started.stop.wished.is_set():
        work.cancel()
    else:
        started.world.tell("stopping: the session is ended, judged and kept; once more to stop at once")
    started.stop.wish()


async def run_agent(
    started: _Started, agent: Agent, log: Log, latest: float = float("inf")
) -> tuple[AgentLoop, Ending]:
    """One agent, root or child: the events around its loop, and the loop.

    Args:
        latest: when it ends whatever its own limit says, on the clock of the world.

    Raises:
        OSError: the disk takes no more; the log says so, if it can.
    """
    plan, world, config = started.plan, started.world, agent.config
    task = started.redactor.text(agent.task)
    begin_log(log, agent._replace(task=task), started.base_commit, plan.model, started.sandbox_sha256, plan.driver)
    deadline = Deadline(world.monotonic, config.limits.wall_clock_s, started.stop, latest)
    standing = Standing.at_first(config)
    children = Children(
        agent,
        standing,
        lambda: new_session_id(world.now_ms(), world.random(10)),
        partial(_run_child, started, deadline),
    )
    setting = ToolSetting(
        started.tree, plan.driver, world.environment, plan.network_hosts,
        lambda: min(config.limits.tool_timeout_s, deadline.left_s()), children.spawn, started.stop.wished,
    )  # fmt: skip
    tools = _Redacting(Toolbox(config.tools, setting), started.redactor)
    loop = AgentLoop(
        agent, plan.model, specs_of(config.tools), started.provider, tools, log, deadline, standing,
        started.redactor.request, reply_teller(config, world.monotonic, world.tell),
        error_teller(config.agent_kind, world.tell),
    )  # fmt: skip
    try:
        ending = await _guarded(loop, task)
    except OSError as error:  # a disk that takes no more: the session ends, and so does the command
        with suppress(OSError):
            end_log(log, loop, Ending(EndReason.ERRORED, str(error)))
        raise
    end_log(log, loop, ending)
    return loop, ending


async def _run_child(started: _Started, deadline: Deadline, child: Agent) -> ChildEnd:
    with opened_session(started.store, _record_of(started, child), child.config) as path:
        with AuditLogWriter(path, child.session, started.world.now_ms) as log:
            loop, ending = await run_agent(started, child, log, deadline.until)
        _keep(started, child, loop, ending)
    return ChildEnd(ending, [(use.host, use.granted, use.refused) for use in loop.hosts.uses()])


async def _guarded(loop: AgentLoop, task: str) -> Ending:
    try:
        return await loop.run(task)
    except asyncio.CancelledError:
        return Ending(EndReason.CANCELED_BY_USER, "interrupted", is_from_outside=True)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a model or its provider brought about, the session is judged
        return Ending(EndReason.ERRORED, whole_text(f"{type(error).__name__}: {error}")[:500], is_from_outside=True)


class _Redacting:
    """Tools whose results are without secrets, before a model, a log or a capture has them."""

    def __init__(self, tools: Tools, redactor: Redactor) -> None:
        self._tools, self._redactor = tools, redactor

    async def call(self, call_id: str, tool: str, arguments: str, effects: Effects, /) -> ToolOutcome:
        outcome = await self._tools.call(call_id, tool, arguments, effects)
        return outcome._replace(result=self._redactor.text(outcome.result))


def _record_of(started: _Started, agent: Agent) -> SessionRecord:
    plan, world = started.plan, started.world
    return SessionRecord(
        session=agent.session,
        parent_session=agent.parent_session or None,
        agent_kind=agent.config.agent_kind,
        model=plan.model,
        base_commit=started.base_commit,
        spec_sha256=plan.spec_sha256,
        started=datetime.fromtimestamp(world.now_ms() / 1000, UTC),
        producer=Producer(name=PRODUCER, version=world.version),
    )


def _keep(started: _Started, agent: Agent, loop: AgentLoop, ending: Ending) -> Capture:
    """Put the capture of a session that has ended into the store."""
    change = change_of(started.base, started.base_commit, started.tree)
    exchanges = tuple(loop.recorder.exchanges)
    outside = {"after": len(exchanges), "reason": ending.reason, "detail": ending.detail}
    capture = Capture(
        session=agent.session,
        spec_sha256=started.plan.spec_sha256,
        producer=Producer(name=PRODUCER, version=started.world.version),
        prompt_sha256=prompt_digest(agent.config, agent.task),
        config=agent.config,
        sandbox_sha256=started.sandbox_sha256,
        sandbox_driver=started.plan.driver.value,
        exchanges=exchanges,
        stopped=Stopped.model_validate(outside) if ending.is_from_outside else None,
        workspace=EndState(
            base_commit=started.base_commit, end_tree=change.end_tree, patch_base64=b64encode(change.patch)
        ),
    )
    keep_capture(started.store, capture)
    return capture
