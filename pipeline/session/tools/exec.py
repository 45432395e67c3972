"""`exec`: a shell command in the sandbox."""

from __future__ import annotations

from pipeline.sandbox import CommandOutcome, Ended
from pipeline.session.tools.in_sandbox import run_in_sandbox
from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting, cut, failed

MAX_CHARACTERS = 16_000  # of the output, as the model gets it


class ExecArguments(Arguments):
    """A command."""

    command: str
    """Run by sh -c in the workspace."""


async def _act(setting: ToolSetting, arguments: ExecArguments, effects: Effects) -> ToolOutcome:
    argv = ("sh", "-c", arguments.command)
    outcome = await run_in_sandbox(setting, effects, argv, setting.workspace, keep_changes=True)
    if isinstance(outcome, str):
        return failed(outcome)
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
