"""What a user may change of the agent (`assay.agent-options` version 1): a .zon, .yaml or .json file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.records.spec_fields import DistinctItems, Name, SpecRecord, Text


class AgentFile(SpecRecord):
    """The file of `--agent`."""

    schema_: Literal["assay.agent-options"] = Field("assay.agent-options", alias="schema")
    version: Literal[1] = 1
    prompt: Text | None = None
    """In place of the usual system prompt."""
    tools: DistinctItems[Name] | None = None
    """The tools that the agent is given; a spec's own come first. None: all that there are."""
    approvals: dict[str, Literal["allow", "deny"]] = Field(default_factory=dict)
    """Action → decision, such as `exec.shell: deny` or `net.fetch: allow`; what is not named is allowed."""
