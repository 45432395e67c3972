"""All tools by their names, and the one place that calls them: whatever goes wrong is an answer for the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.formats.strict_json import parse_json
from pipeline.records.exchange import ToolSpec
from pipeline.records.names import nearest
from pipeline.session.tools.edit_file import EDIT_FILE
from pipeline.session.tools.exec import EXEC
from pipeline.session.tools.fetch_url import FETCH_URL
from pipeline.session.tools.finish import FINISH
from pipeline.session.tools.read_file import READ_FILE
from pipeline.session.tools.restrict_self import RESTRICT_SELF
from pipeline.session.tools.spawn_agent import SPAWN_AGENT
from pipeline.session.tools.tool import Effects, Tool, ToolOutcome, ToolSetting, failed
from pipeline.session.tools.update_plan import UPDATE_PLAN
from pipeline.session.tools.write_file import WRITE_FILE

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            EXEC, READ_FILE, WRITE_FILE, EDIT_FILE, FINISH, UPDATE_PLAN, SPAWN_AGENT, FETCH_URL, RESTRICT_SELF,
        )
    }
)  # fmt: skip


def checked_tools(names: Sequence[str] | None) -> tuple[str, ...]:
    """The tools that an agent is given; None: all.

    Raises:
        InputError: there is no tool of that name.
    """
    for name in names or ():
        if name not in TOOLS:
            raise InputError(f"tools: there is no tool {name!r}{nearest(name, TOOLS)}")
    return tuple(TOOLS) if names is None else tuple(names)


class Toolbox:
    """The tools that one agent has.

    Args:
        names: of the tools.
        setting: what they work on.
    """

    def __init__(self, names: Sequence[str], setting: ToolSetting) -> None:
        self._tools = {name: TOOLS[name] for name in names}
        self._setting = setting

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told of them."""
        return specs_of(tuple(self._tools))

    async def call(self, _call_id: str, tool: str, arguments: str, effects: Effects) -> ToolOutcome:
        """Call a tool. Raises for nothing that a model can write."""
        found = self._tools.get(tool)
        if found is None:
            return failed(f"there is no tool {tool!r}{nearest(tool, self._tools)}")
        parsed = _parsed(found, arguments)
        return parsed if isinstance(parsed, ToolOutcome) else await found.act(self._setting, parsed, effects)


@lru_cache
def specs_of(names: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    """What a model is told of tools."""
    return tuple(TOOLS[name].spec() for name in names)


def actions_of(tool: str, arguments: str) -> tuple[str, ...]:
    """What a call puts to the approvals, in order."""
    found = TOOLS.get(tool)
    parsed = None if found is None else _parsed(found, arguments)
    if found is None or parsed is None or isinstance(parsed, ToolOutcome):
        return (f"call.{tool}",)
    return (f"call.{tool}", *found.actions(parsed))


def checked_action(action: str) -> str:
    """An action that a call can take: of a tool, of the shell, or of fetching from a host, wholly or in part.

    Raises:
        InputError: no call takes an action that begins like this.
    """
    known = ["call", *(f"call.{name}" for name in TOOLS), "exec", "exec.shell", "net", "net.fetch"]
    if action in known or re.fullmatch(r"net\.fetch(\.[a-z0-9_-]+)+", action):
        return action
    raise InputError(f"there is no action {action!r}{nearest(action, known)}")


def _parsed(tool: Tool, arguments: str) -> Any:
    """The arguments, or an outcome that tells what is wrong with them."""
    try:
        value = parse_json((arguments or "{}").encode("utf-8", "replace"), "arguments")
        if not isinstance(value, dict):
            expected = ", ".join(f'"{name}": …' for name in tool.arguments.model_fields)
            return failed(f"the arguments of {tool.name} are no object; expected one such as {{{expected}}}")
        return tool.arguments.model_validate(value)
    except InputError as error:
        return failed(str(error))
    except ValidationError as error:
        return failed(f"the arguments of {tool.name} do not fit: {_misfit(tool, error)}")


def _misfit(tool: Tool, error: ValidationError) -> str:
    """What is wrong first; a name that is not known before one that is missing, for it may be the same, misspelt."""
    errors = error.errors(include_url=False)
    unknown = next((each for each in errors if each["type"] == "extra_forbidden"), None)
    if unknown is not None and len(unknown["loc"]) == 1:
        name = str(unknown["loc"][0])
        return f"there is no field {name!r}{nearest(name, tool.arguments.model_fields)}"
    first = errors[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg'][0].lower()}{first['msg'][1:]}"
