"""The events around an agent's turns: what a run says before the first and after the last."""

from __future__ import annotations

from pipeline.records.agent_config import AgentConfig
from pipeline.records.audit_content import TextPart
from pipeline.records.audit_session import (
    NetworkSummary,
    SandboxOpen,
    SessionConfig,
    SessionEnd,
    SessionStart,
    WorkspaceOpen,
)
from pipeline.records.audit_turn import Message
from pipeline.records.digest import digest_bytes, digest_json
from pipeline.sandbox import Driver
from pipeline.session.agent.children import Agent
from pipeline.session.agent.ending import Ending
from pipeline.session.agent.loop import AgentLoop
from pipeline.session.agent.recorder import Log
from pipeline.session.tools.tool import WORKSPACE


def begin_log(
    log: Log,
    agent: Agent,
    base_commit: str | None,
    model: str,
    sandbox_sha256: str,
    driver: Driver,
) -> None:
    """The events before the first turn.

    Args:
        log: takes them.
        agent: whose session it is.
        base_commit: where its workspace began; None: a fixture without git.
        model: as the provider knows it.
        sandbox_sha256: digest of the profile in which commands run.
        driver: of the sandbox.
    """
    config = agent.config
    kind = "overlay" if base_commit is None else "worktree"
    log.append(WorkspaceOpen(kind=kind, attempt="1", path=WORKSPACE, base_commit=base_commit or ""))
    log.append(SandboxOpen(attempt="1", write_execute="strict", decision="allow"))
    log.append(Message(role="user", content=(TextPart(text=agent.task),)))
    log.append(
        SessionStart(
            agent_kind=config.agent_kind,
            model_alias=model,
            parent_session=agent.parent_session,
            spawn_chain=agent.chain,
        )
    )
    log.append(
        SessionConfig(
            config_hash=config_digest(config),
            sandbox_hash=sandbox_sha256,
            policy_rules=tuple(f"{action}={rule}" for action, rule in sorted(config.approvals.items())),
            sandbox_driver=driver.value,
        )
    )


def end_log(log: Log, loop: AgentLoop, ending: Ending) -> None:
    """The events after the last turn."""
    log.append(SessionEnd(reason=ending.reason.value, detail=ending.detail))
    uses = loop.hosts.uses()
    for event in loop.hosts.events():
        log.append(event)
    refused = next((use.host for use in uses if use.refused), "")
    log.append(
        NetworkSummary(
            granted=sum(use.granted for use in uses),
            refused=sum(use.refused for use in uses),
            diagnostic=f"{refused} was refused" if refused else "",
        )
    )


def config_digest(config: AgentConfig) -> str:
    """`config_hash` of a session: of the bytes of its `config.json`."""
    return digest_bytes(config.to_bytes())


def prompt_digest(config: AgentConfig, task: str) -> str:
    """Of what the model is told before it says anything."""
    return digest_json([config.prompt, task])
