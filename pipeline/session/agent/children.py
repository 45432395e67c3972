"""Helpers of a session: who may have some, what its log says of them, what became of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from pipeline.records.agent_config import AgentConfig
from pipeline.records.audit_names import AgentOutcome, EndReason
from pipeline.records.audit_session import AgentComplete, SessionSpawn, Spawner
from pipeline.session.agent.ending import Ending
from pipeline.session.agent.standing import Standing
from pipeline.session.tools.tool import Effects, ToolOutcome, failed

MAX_REASON_BYTES, MAX_RESULT_BYTES = 200, 16 << 10  # of a child, as its parent's log has them
_OUTCOMES = {
    EndReason.FINISHED: AgentOutcome.FINISHED,
    EndReason.NO_PROGRESS: AgentOutcome.NO_PROGRESS,
    EndReason.BUDGET_REACHED: AgentOutcome.BUDGET,
    EndReason.RATE_LIMITED: AgentOutcome.RATE_LIMITED,
}


class Agent(NamedTuple):
    """One agent: the root, or one that helps another."""

    session: str
    task: str
    config: AgentConfig
    parent_session: str = ""
    """Empty: the root."""
    chain: tuple[Spawner, ...] = ()
    """The agents above it, from the root."""


class ChildEnd(NamedTuple):
    """What became of a child."""

    ending: Ending
    hosts: Sequence[tuple[str, int, int]]
    """Those that it reached: name, connections granted, connections refused."""


class Children:
    """Runs the children of one session, one at a time: they work in its workspace, and it waits for each.

    Args:
        parent: the session; their configuration is its own but for the kind and the money.
        standing: of the session: half of what is left of its money is each child's; what it may not do, none may.
        new_session: gives ids.
        run: runs a child to its end.
    """

    def __init__(
        self,
        parent: Agent,
        standing: Standing,
        new_session: Callable[[], str],
        run: Callable[[Agent], Awaitable[ChildEnd]],
    ) -> None:
        self._parent, self._standing = parent, standing
        self._new_session, self._run = new_session, run
        self._n_children = 0

    async def spawn(self, kind: str, task: str, effects: Effects) -> ToolOutcome:
        """Run a child, and give its answer."""
        limits = self._parent.config.limits
        if len(self._parent.chain) >= limits.max_depth:
            return failed(f"helpers of helpers go {limits.max_depth} deep at most")
        if self._n_children >= limits.max_width:
            return failed(f"{limits.max_width} helpers are the most that one session has")
        self._n_children += 1
        child = self._child(kind, task)
        share = child.config.limits.max_cost
        effects.append(
            SessionSpawn(
                child_session=child.session,
                child_agent_kind=kind,
                reason=child.chain[-1].reason,
                budget_max_cost=share or 0,
                budget_currency=limits.currency or "" if share is not None else "",
            )
        )
        ending, hosts = await self._run(child)
        for host, granted, refused in hosts:
            effects.connected(host, granted, refused)
        outcome = _OUTCOMES.get(ending.reason, AgentOutcome.REFUSED)
        result = _bounded(ending.result or ending.detail, MAX_RESULT_BYTES)
        effects.append(
            AgentComplete(
                child_session=child.session,
                child_agent_kind=kind,
                outcome=outcome.value,
                result=result,
                scratchpad_path="",
            )
        )
        return ToolOutcome(result, is_error=outcome is not AgentOutcome.FINISHED)

    def _child(self, kind: str, task: str) -> Agent:
        parent, limits = self._parent, self._parent.config.limits
        spending, approvals = self._standing
        share = None if limits.max_cost is None else spending.give_half(limits.max_cost, limits.currency or "")
        changed = {"agent_kind": kind, "limits": limits.model_copy(update={"max_cost": share})}
        config = parent.config.model_copy(update={**changed, "approvals": approvals.rules()})
        above = Spawner(agent_kind=parent.config.agent_kind, reason=_bounded(_first_line(task), MAX_REASON_BYTES))
        return Agent(self._new_session(), task, config, parent.session, (*parent.chain, above))


def _first_line(task: str) -> str:
    return task.strip().splitlines()[0]


def _bounded(text: str, n_bytes: int) -> str:
    return text.encode("utf-8", "replace")[:n_bytes].decode("utf-8", "ignore")
