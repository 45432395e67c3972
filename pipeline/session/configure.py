"""From what a user asks for to the configuration that an agent works under."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.records.agent_config import AgentConfig, AgentLimits
from pipeline.records.agent_options import AgentFile
from pipeline.records.eval_spec import Limits
from pipeline.records.provider_profile import ProviderProfile
from pipeline.records.spec_file import check_ending
from pipeline.records.told import check_kind, told
from pipeline.session.agent.prompt import PROMPT
from pipeline.session.tools.toolbox import checked_action, checked_tools

SCHEMA: Literal["assay.agent-options"] = "assay.agent-options"


class AgentChoice(NamedTuple):
    """What a session asks for."""

    tools: Sequence[str] | None
    limits: Limits
    max_cost: float | None = None
    currency: str | None = None
    has_network: bool = False
    """Whether a host was granted; without one, fetching is denied, whatever the file says."""


def load_agent_file(path: Path | None) -> AgentFile:
    """The user's file about the agent; None: there is none.

    Raises:
        InputError: names file, line, field, what was found and what is allowed.
    """
    if path is None:
        return AgentFile(schema=SCHEMA)
    where = str(path)
    read = check_ending(where)
    try:
        document = read(path.read_bytes(), where)
    except OSError as error:
        raise InputError(f"{where}: cannot be read: {error.strerror or error}") from None
    check_kind(document, where, AgentFile, {"schema": SCHEMA, "version": 1})
    try:
        return AgentFile.model_validate(document.value)
    except ValidationError as error:
        raise told(error, AgentFile, document, where) from None


def agent_config(choice: AgentChoice, file: AgentFile, profile: ProviderProfile, model: str) -> AgentConfig:
    """The effective configuration.

    Raises:
        InputError: there is no tool, or no action, of a name that is asked for.
    """
    limits = choice.limits
    for action in file.approvals:
        try:
            checked_action(action)
        except InputError as error:
            raise InputError(f"approvals: {error}") from None
    return AgentConfig(
        agent_kind="main",
        prompt=file.prompt or PROMPT,
        tools=checked_tools(choice.tools if choice.tools is not None else file.tools),
        limits=AgentLimits(
            max_turns=limits.max_turns,
            wall_clock_s=limits.wall_clock_s,
            tool_timeout_s=limits.tool_timeout_s,
            max_cost=choice.max_cost,
            currency=choice.currency,
        ),
        approvals={**file.approvals, **({} if choice.has_network else {"net": "deny"})},
        provider={**profile.model_dump(mode="json", exclude={"api_key_env", "script"}), "model": model},
    )
