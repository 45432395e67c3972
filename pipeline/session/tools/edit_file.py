"""`edit_file`: one place of a file."""

from __future__ import annotations

from pipeline.errors import InputError, UnsafeFileError, WorkspaceError
from pipeline.sandbox import read_beneath
from pipeline.session.tools.read_file import MAX_BYTES
from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting, beneath, failed
from pipeline.session.tools.write_file import write


class EditArguments(Arguments):
    """A replacement."""

    path: str
    """Relative to the workspace."""
    old: str
    """Text that stands in the file exactly once."""
    new: str
    """What stands there afterwards."""


async def _act(setting: ToolSetting, arguments: EditArguments, _effects: Effects) -> ToolOutcome:
    try:
        data = read_beneath(setting.workspace, beneath(arguments.path), max_bytes=MAX_BYTES)
        text = data.decode("utf-8")
    except FileNotFoundError:
        return failed(f"{arguments.path!r}: there is no such file")
    except UnicodeDecodeError:
        return failed(f"{arguments.path!r} is no text")
    except (InputError, UnsafeFileError, WorkspaceError) as error:
        return failed(str(error))
    found = text.count(arguments.old) if arguments.old else 0
    if found != 1:
        return failed(f"the text to be replaced stands {found} times in {arguments.path!r}, expected once")
    return write(setting, arguments.path, text.replace(arguments.old, arguments.new))


EDIT_FILE = Tool("edit_file", "Replace text that stands exactly once in a file.", EditArguments, _act)
