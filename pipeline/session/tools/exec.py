"""`exec`: a shell command in the sandbox."""

from __future__ import annotations

import asyncio

from pipeline.errors import InputError, WorkspaceError
from pipeline.sandbox import CommandOutcome, Ended, SandboxedCommand, run_sandboxed
from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting, cut, failed

MAX_CHARACTERS = 16_000  # of the output, as the model gets it


class ExecArguments(Arguments):
    """A command."""

    command: str
    """Run by sh -c in the workspace."""


async def _act(setting: ToolSetting, arguments: ExecArguments, effects: Effects) -> ToolOutcome:
    command = SandboxedCommand(
        argv=("sh", "-c", arguments.command),
        workspace=setting.workspace,
        timeout_s=setting.timeout_s,
        network_hosts=setting.network_hosts,
        keep_changes=True,
        stop=setting.stop,
    )
    try:
        outcome = await asyncio.to_thread(
            run_sandboxed, command, driver=setting.driver, environment=setting.environment
        )
    except (InputError, WorkspaceError) as error:
        return failed(str(error))
    for decision in outcome.network:
        effects.reached(decision.host, is_allowed=decision.is_allowed)
    return _told(outcome)


def _told(outcome: CommandOutcome) -> ToolOutcome:
    output, is_cut = cut(outcome.text, MAX_CHARACTERS)
    ending = f"exit status {outcome.exit_status}" if outcome.ended is Ended.EXITED else outcome.reason
    if outcome.ended is Ended.SIGNALLED:
        ending = f"ended by signal {outcome.signal}"
    lines = [output.rstrip("\n")] if output else []
    return ToolOutcome("\n".join([*lines, f"[{ending}]"]), not outcome.is_success, is_cut or outcome.is_cut)


EXEC = Tool(
    "exec",
    "Run a shell command in the workspace. Changes to files stay; nothing that it starts stays. "
    "There is no network unless hosts were granted.",
    ExecArguments,
    _act,
    lambda _: ("exec.shell",),
)
