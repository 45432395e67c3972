"""`read_file`: a text file of the workspace."""

from __future__ import annotations

from pipeline.errors import InputError, UnsafeFileError, WorkspaceError
from pipeline.sandbox import read_beneath
from pipeline.session.tools.tool import Arguments, Effects, Tool, ToolOutcome, ToolSetting, beneath, cut, failed

MAX_BYTES = 16 * 2**20
MAX_CHARACTERS = 32_000  # as the model gets it


class ReadArguments(Arguments):
    """A file."""

    path: str
    """Relative to the workspace."""


async def _act(setting: ToolSetting, arguments: ReadArguments, _effects: Effects) -> ToolOutcome:
    try:
        data = read_beneath(setting.workspace, beneath(arguments.path), max_bytes=MAX_BYTES)
    except FileNotFoundError:
        return failed(f"{arguments.path!r}: there is no such file")
    except (InputError, UnsafeFileError, WorkspaceError) as error:
        return failed(str(error))
    text, is_cut = cut(data.decode("utf-8", "replace"), MAX_CHARACTERS)
    return ToolOutcome(text, truncated=is_cut)


READ_FILE = Tool("read_file", "Read a text file of the workspace.", ReadArguments, _act)
