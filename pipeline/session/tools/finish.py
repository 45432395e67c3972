"""`finish`: the end of the work."""

from __future__ import annotations

from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting

NAME = "finish"


class FinishArguments(Arguments):
    """The answer."""

    result: str = ""
    """What was done, in a sentence or two."""


async def _act(_setting: ToolSetting, arguments: FinishArguments, _effects: Effects) -> ToolOutcome:
    return ToolOutcome(arguments.result)


FINISH = Tool(NAME, "End the work, and say what was done.", FinishArguments, _act)
