"""`spawn_agent`: a helper with a task of its own, which works in the same workspace while this one waits."""

from __future__ import annotations

from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting, failed


class SpawnArguments(Arguments):
    """A child."""

    task: str
    """What it is to do. It knows nothing of this conversation."""
    kind: str = "helper"
    """What it is called."""


async def _act(setting: ToolSetting, arguments: SpawnArguments, effects: Effects) -> ToolOutcome:
    if not arguments.task.strip():
        return failed("a helper needs a task")
    return await setting.spawn(arguments.kind, arguments.task, effects)


SPAWN_AGENT = Tool(
    "spawn_agent", "Give a task to a helper, and wait for its answer. It works in your workspace.", SpawnArguments, _act
)
