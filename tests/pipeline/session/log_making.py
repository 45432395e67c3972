"""Makes logs by hand, beside the real writer: lines as they are given, chained over their exact bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HEADER = b'{"chock_log":1}'
SESSION = "01J0000000ABCDEFGHJKMNPQRS"
VECTORS = Path(__file__).parents[2] / "vectors" / "audit-log"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def text_of(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def line_of(name: str, payload: Any, prev: str = "", **members: Any) -> bytes:
    """A line in the usual form; `members` stand in the place of those of the envelope, or behind them."""
    envelope = {"id": 0, "session": SESSION, "time_ms": 1, "event": {name: payload}, "version": 1, "prev": prev}
    return text_of({**envelope, **members})


def chained(events: Iterable[tuple[str, Any]]) -> list[bytes]:
    """Lines of events, each chained to the one before."""
    lines, prev = [], sha256(HEADER)
    for name, payload in events:
        lines.append(line_of(name, payload, prev))
        prev = sha256(lines[-1])
    return lines


def log_of(lines: Iterable[bytes], tail: bytes = b"") -> bytes:
    return b"".join(line + b"\n" for line in (HEADER, *lines)) + tail


def title(number: int) -> tuple[str, Any]:
    return "session.title", {"title": f"number {number}"}


TITLES = [title(number) for number in range(6)]
