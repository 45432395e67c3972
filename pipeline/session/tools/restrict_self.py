"""`restrict_self`: the agent forbids itself an action for the rest of the session."""

from __future__ import annotations

import re

from pipeline.records.audit_names import Ceiling
from pipeline.records.audit_turn import PolicySelf, Restriction
from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting, failed

_ACTION = re.compile(r"(?:call|exec|net)(?:\.[a-z0-9_-]+)*")


class RestrictArguments(Arguments):
    """What is given up."""

    action: str
    """Such as exec.shell, net.fetch, call.spawn_agent; all that begins with it, step by step, is meant."""
    reason: str = ""


async def _act(_setting: ToolSetting, arguments: RestrictArguments, effects: Effects) -> ToolOutcome:
    if not _ACTION.fullmatch(arguments.action):
        return failed(
            f"{arguments.action!r} is no action; expected one such as exec.shell, net.fetch or call.write_file"
        )
    restriction = Restriction(action=arguments.action, ceiling=Ceiling.DENY.value, reason=arguments.reason)
    effects.append(PolicySelf(restrictions=(restriction,)))
    return ToolOutcome(f"{arguments.action} is denied from now on")


RESTRICT_SELF = Tool("restrict_self", "Forbid yourself an action for the rest of the session.", RestrictArguments, _act)
