"""What a tool is: its description for the model, the actions that it takes, and what it does."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from pipeline.records.audit_wire import Payload
from pipeline.records.exchange import ToolSpec
from pipeline.sandbox import Driver

WORKSPACE = "/workspace"
"""Where the model is told that it works, wherever that is."""


class Arguments(BaseModel):
    """The arguments of a tool. What the model adds to them is an error that it is told."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class Effects(Protocol):
    """Takes what a call leaves in the log beside its result, when it happens."""

    def append(self, event: Payload) -> None:
        """Write an event to the log, and remember it for a replay."""
        ...

    def connected(self, host: str, granted: int, refused: int) -> None:
        """Remember connections to a host."""
        ...


class ToolOutcome(NamedTuple):
    """What a call gave."""

    result: str
    """For the model."""
    is_error: bool = False
    truncated: bool = False


class ToolSetting(NamedTuple):
    """What tools work on, and within which bounds."""

    workspace: Path
    driver: Driver
    environment: Mapping[str, str]
    """Of this process; a command sees none of it."""
    network_hosts: tuple[str, ...]
    timeout_s: Callable[[], float]
    """How long a command may take that begins now."""
    spawn: Callable[[str, str, Effects], Awaitable[ToolOutcome]]
    """Runs a child: what it is called, its task, where the effects go."""
    stop: threading.Event
    """Set where the session is stopped while a command runs."""


class Tool(NamedTuple):
    """One tool."""

    name: str
    description: str
    arguments: type[Arguments]
    act: Callable[[ToolSetting, Any, Effects], Awaitable[ToolOutcome]]
    """The second argument is an instance of `arguments`."""
    actions: Callable[[Any], Sequence[str]] = lambda _: ()
    """What is put to the approvals beside `call.<name>`."""

    def spec(self) -> ToolSpec:
        """The description, as a model gets it."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        for member in schema.get("properties", {}).values():
            member.pop("title", None)
        return ToolSpec(name=self.name, description=self.description, parameters=schema)


def failed(reason: str) -> ToolOutcome:
    """An outcome that tells the model why there is none."""
    return ToolOutcome(reason, is_error=True)


def cut(text: str, most: int) -> tuple[str, bool]:
    """A text of at most so many characters, out of whose middle is taken what is too much; and whether any was."""
    if len(text) <= most:
        return text, False
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n… {len(text) - head - tail:,} characters left out …\n{text[-tail:]}", True


def beneath(path: str) -> str:
    """A path of the workspace as the model writes it, relative to the workspace."""
    plain = path.removeprefix(f"{WORKSPACE}/") if path.startswith(f"{WORKSPACE}/") else path
    return "/".join(step for step in plain.split("/") if step != ".")
