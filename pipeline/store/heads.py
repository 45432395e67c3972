"""What a name stands for, as a history of create-only objects: `<prefix>/heads/<counter>-<ulid>.json`.

The highest counter is the newest. Two writers at the same moment may take the same counter: both entries stand, the
later ULID is the newer one, and nothing is overwritten.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from ulid import ULID

from pipeline.records.head import Head
from pipeline.store.store import Store

_DIGITS = 10  # of the counter in the key, so that keys sort by it


class HeadEntry(NamedTuple):
    """One entry of the history."""

    key: str
    payload: dict[str, Any]
    written_at: datetime
    """UTC, by the clock of the writer."""


def current_head(store: Store, prefix: str) -> dict[str, Any] | None:
    """What the name stands for now; None for a name that is not known."""
    keys = store.list(f"{prefix}/heads")
    return _read(store, keys[-1]) if keys else None


def append_head(store: Store, prefix: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Make the name stand for `payload`, unless it does already. Returns the payload."""
    keys = store.list(f"{prefix}/heads")
    if keys and _read(store, keys[-1]) == payload:
        return payload
    counter = _counter(keys[-1]) + 1 if keys else 1
    key = f"{prefix}/heads/{counter:0{_DIGITS}d}-{ULID()}.json"
    store.create(key, Head(payload=payload).to_bytes())
    return payload


def list_heads(store: Store, prefix: str) -> list[HeadEntry]:
    """The whole history, oldest first."""
    keys = store.list(f"{prefix}/heads")
    entries = zip(keys, store.read_each(keys), strict=True)
    return [HeadEntry(key, Head.from_bytes(data, key).payload, _written_at(key)) for key, data in entries if data]


def _read(store: Store, key: str) -> dict[str, Any]:
    return Head.from_bytes(store.read(key), f"{store.display}/{key}").payload


def _counter(key: str) -> int:
    return int(_file_name(key).partition("-")[0])


def _written_at(key: str) -> datetime:
    text = _file_name(key).partition("-")[2].removesuffix(".json")
    return ULID.from_str(text).datetime.astimezone(UTC)


def _file_name(key: str) -> str:
    return key.rsplit("/", 1)[-1]
