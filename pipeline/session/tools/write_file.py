"""`write_file`: a whole file of the workspace."""

from __future__ import annotations

from pipeline.errors import InputError, UnsafeFileError, WorkspaceError
from pipeline.sandbox import check_room, write_beneath
from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting, beneath, failed


class WriteArguments(Arguments):
    """A file."""

    path: str
    """Relative to the workspace; folders on the way are made."""
    content: str
    """All of it."""


async def _act(setting: ToolSetting, arguments: WriteArguments, _effects: Effects) -> ToolOutcome:
    return write(setting, arguments.path, arguments.content)


def write(setting: ToolSetting, path: str, content: str) -> ToolOutcome:
    """Write a file of the workspace, and tell the model."""
    data = content.encode("utf-8", "replace")
    try:
        check_room(setting.workspace, beneath(path), len(data))
        write_beneath(setting.workspace, beneath(path), data)
    except (InputError, UnsafeFileError, WorkspaceError, FileNotFoundError) as error:
        return failed(f"{path!r} cannot be written: {error}")
    return ToolOutcome(f"wrote {len(data):,} bytes to {path}")


WRITE_FILE = Tool("write_file", "Write a file of the workspace, in place of what was there.", WriteArguments, _act)
