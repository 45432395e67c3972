"""The text of a config: UTF-8, and no longer than a person writes."""

from __future__ import annotations

from pipeline.errors import InputError
from pipeline.formats.located import MAX_BYTES


def config_text(data: bytes, where: str) -> str:
    """Decode the bytes of a file; `where` is what errors call it.

    Raises:
        InputError: more than 1 MiB, or not UTF-8; names the line.
    """
    if len(data) > MAX_BYTES:
        raise InputError(f"{where}: has {len(data):,} bytes, more than the {MAX_BYTES:,} that a config may have")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}:{line}: is not UTF-8 text; save it as UTF-8") from None
