"""A command of a tool: in the sandbox, and within the session's time; the hosts that it reached are effects."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pipeline.errors import InputError, WorkspaceError
from pipeline.sandbox import CommandOutcome, SandboxedCommand, run_sandboxed
from pipeline.session.tools.tool import Effects, ToolSetting


async def run_in_sandbox(
    setting: ToolSetting, effects: Effects, argv: tuple[str, ...], workspace: Path, **more: Any
) -> CommandOutcome | str:
    """Run a command to its end, or until the session ends.

    Args:
        workspace: in which it runs.
        more: of the command, such as `keep_changes`.

    Returns:
        How it ended, or why it could not be begun.
    """
    command = SandboxedCommand(
        argv=argv,
        workspace=workspace,
        timeout_s=max(0.001, setting.timeout_s()),
        network_hosts=setting.network_hosts,
        stop=setting.stop,
        **more,
    )
    try:
        outcome = await asyncio.to_thread(
            run_sandboxed, command, driver=setting.driver, environment=setting.environment
        )
    except (InputError, WorkspaceError) as error:
        return str(error)
    for decision in outcome.network:
        effects.connected(decision.host, int(decision.is_allowed), int(not decision.is_allowed))
    return outcome
