"""What an agent works under (`assay.agent` version 1): its prompt, tools, limits, approvals, and where its model is."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import JsonValue

from pipeline.records.base import Document, Record


class AgentLimits(Record):
    """When a session is stopped."""

    max_turns: int
    """Replies of the model."""
    wall_clock_s: float
    tool_timeout_s: float
    max_cost: float | None = None
    """Of this session and what it gives to its children; null: no bound."""
    currency: str | None = None
    max_depth: int = 2
    """Children of children; 0: none."""
    max_width: int = 6
    """Children of one session."""


class AgentConfig(Document):
    """The effective configuration: its digest is `config_hash` in `session.config`. Holds no key and no path."""

    schema_name: ClassVar[str] = "assay.agent"

    agent_kind: str
    """`main`, or what a child is called."""
    prompt: str
    """The system prompt."""
    tools: tuple[str, ...]
    limits: AgentLimits
    approvals: dict[str, Literal["allow", "deny"]]
    """Action → decision. The longest name that an action begins with, step by step, decides; nobody is asked."""
    provider: dict[str, JsonValue]
    """The profile of the provider, and the model."""
