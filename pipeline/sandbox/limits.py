"""What a sandboxed command may use up."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.records.base import Record

_Bytes = Annotated[int, Field(strict=True, ge=2**20)]
_Count = Annotated[int, Field(strict=True, ge=1)]


class SandboxLimits(Record):
    """Bounds of one sandbox. Those of a process hold for each; the others for all of its processes together."""

    memory_bytes: _Bytes = 2 * 2**30
    """All processes and the workspace together: looked at 20 times a second, and more ends them all."""
    address_space_bytes: _Bytes = 16 * 2**30
    """Of one process. Far above its memory, since some runtimes reserve what they never touch."""
    disk_bytes: _Bytes = 512 * 2**20
    """The workspace, the temporary folder and home together; they lie in memory."""
    file_bytes: _Bytes = 256 * 2**20
    """Of one file."""
    files: _Count = 100_000
    """In the workspace, the temporary folder and home together."""
    processes: _Count = 128
    """Processes and threads."""
    open_files: _Count = 1024
    """Of one process."""
