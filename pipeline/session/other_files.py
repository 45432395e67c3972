"""What a file is that was given in place of a log: the findings of a check say only that its first line is another."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pipeline.errors import InputError
from pipeline.formats.strict_json import parse_json
from pipeline.records.audit_event import HEADER
from pipeline.session.session_files import LOG

MAX_BYTES = 64 << 20  # of a file that is parsed for a hint alone
_HEAD_BYTES = 4096
_SCHEMA = re.compile(rb"""^\s*\.?schema\s*[:=]\s*["']?((?:assay|chock)\.[a-z-]+)""", re.MULTILINE)  # YAML and ZON
_LIKE_A_LOG = (b'{"chock_log"', b'{"id":')
"""How a log of another version begins, and one that has lost its header: their findings say it better."""
_COMPRESSED = (b"\x28\xb5\x2f\xfd", b"\x1f\x8b")  # zstd, gzip


def why_no_log(path: Path) -> str:
    """Says that a file is no audit log, what it is, and what to give; empty: it may be one, or cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return ""
    if head.startswith((HEADER, *_LIKE_A_LOG)):
        return ""
    what = _what(path, head)
    if not what and path.name == LOG:  # by its name it was one, and is damaged: the findings say how
        return ""
    beside = path.with_name(LOG)
    is_beside = path.name != LOG and os.path.isfile(beside)
    give = f"give the log beside it, {beside}" if is_beside else f"give the session's id, or its {LOG}"
    return f"{path} is no audit log: {what or f'its first line is not {HEADER[:-1].decode()}'}; {give}"


def _what(path: Path, head: bytes) -> str:
    """Empty: nothing that is known here."""
    if head.startswith(_COMPRESSED):
        return "it is compressed"
    schema = _schema_of(path, head)
    return f"it is {'an' if schema.startswith('a') else 'a'} {schema}" if schema else ""


def _schema_of(path: Path, head: bytes) -> str:
    found = _SCHEMA.search(head)
    if found:
        return found[1].decode()
    if not head.lstrip().startswith(b"{") or os.path.getsize(path) > MAX_BYTES:
        return ""
    try:
        value = parse_json(path.read_bytes(), str(path))
    except (InputError, OSError):
        return ""
    schema = value.get("schema") if isinstance(value, dict) else None
    return schema if isinstance(schema, str) and re.fullmatch(r"[a-z][a-z.-]{0,59}", schema) else ""
