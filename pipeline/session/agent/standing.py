"""What a session has spent and may still do, which its helpers share in."""

from __future__ import annotations

from typing import NamedTuple, Self

from pipeline.records.agent_config import AgentConfig
from pipeline.session.agent.approvals import Approvals
from pipeline.session.agent.spending import Spending


class Standing(NamedTuple):
    """Of one session, now."""

    spending: Spending
    approvals: Approvals

    @classmethod
    def at_first(cls, config: AgentConfig) -> Self:
        """Before anything was done."""
        return cls(Spending(), Approvals(config.approvals))
