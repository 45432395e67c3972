"""Where the log of a session is: in a store by its id, or in a file."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import CorruptError, InputError
from pipeline.records.session import SessionRecord
from pipeline.session.session_ids import is_session_id
from pipeline.store import Store
from pipeline.store.scratch import scratch_folder

LOG, RECORD, CONFIG = "log.jsonl", "session.json", "config.json"
CAPTURE, END_PATCH, REPORT = "capture.json", "end.patch", "report.json"

N_SHOWN = 5  # candidates in a message
_PART_OF_ID = re.compile(r"[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{4,26}")
"""What may be the beginning or the end of an id. Three characters are the same in all ids of a year."""


class SessionLog(NamedTuple):
    """The log of a session, as a file of this machine."""

    path: Path
    session: str | None
    """The id by which it was asked for; None: it was asked for as a file."""
    patch: bytes | None = None
    """What the session changed, as the store keeps it (`end.patch`); None: its tree is in a folder."""
    is_cut_off: bool = False
    """Whether the store says that it began, and not what it changed: its process was killed, or still runs."""


@contextmanager
def session_log(text: str, store: Store) -> Iterator[SessionLog]:
    """The log that an id or a path stands for, for as long as the block lasts.

    Args:
        text: the id of a session of the store, the beginning or the end of one, the path of a log, or its folder.
        store: where sessions are looked for; one that is not local is read once, to a temporary file.

    Raises:
        InputError: there is neither such a session nor such a file, or the text stands for several sessions.
    """
    session = _session_named(text, store)
    if session is None:
        yield _named(_log_file(text, store))
        return
    folder = f"sessions/{session}"
    with _local_copy(store, f"{folder}/{LOG}") as path:
        patch = f"{folder}/{END_PATCH}"
        changed = store.read(patch) if store.exists(patch) else None
        is_cut_off = changed is None and store.exists(f"{folder}/{RECORD}")
        yield SessionLog(path, session, changed, is_cut_off)


def spec_digest_of(log: SessionLog, store: Store) -> str | None:
    """The digest of the spec with which a session was run; None: it had none, or that is not known."""
    if log.session is None or not store.exists(key := f"sessions/{log.session}/{RECORD}"):
        return None
    try:
        return SessionRecord.from_bytes(store.read(key), key).spec_sha256
    except CorruptError:  # not what is judged
        return None


def _session_named(text: str, store: Store) -> str | None:
    """The id of the session that a text stands for; None: it is a path."""
    if is_session_id(text) and store.exists(f"sessions/{text}/{LOG}"):
        return text
    if not _PART_OF_ID.fullmatch(text) or os.path.lexists(text):
        return None
    part = text.upper()
    close = [
        each
        for each in store.list_folders("sessions")
        if (each.startswith(part) or each.endswith(part)) and store.exists(f"sessions/{each}/{LOG}")
    ]
    if len(close) > 1:
        some = f"{', '.join(close[: -N_SHOWN - 1 : -1])}{', …' * (len(close) > N_SHOWN)}"
        raise InputError(f"{text!r} stands for {len(close)} sessions of {store.display} ({some}); give more of one")
    if not close:
        raise InputError(
            f"there is no session {text} in {store.display}, and no such file here; "
            "name its store with --store, or the path of its log"
        )
    return close[0]


def _named(path: Path) -> SessionLog:
    """The log at a path. One that lies where a store keeps it is that session's, with what the session changed."""
    if path.name != LOG or not os.path.isfile(path.with_name(RECORD)):
        return SessionLog(path, None)
    patch = path.with_name(END_PATCH)
    changed = patch.read_bytes() if os.path.isfile(patch) else None
    return SessionLog(path, None, changed, is_cut_off=changed is None)


def _log_file(text: str, store: Store) -> Path:
    path = Path(os.path.expanduser(text))
    if os.path.isdir(path):
        path /= LOG
    try:
        # An empty text, such as a variable of the shell's that is not set, is not the folder that one happens to be in.
        is_there = bool(text) and os.path.lexists(path)
    except ValueError:  # a NUL in the path
        is_there = False
    if not is_there:
        named = str(path) if text else text
        raise InputError(
            f"{named!r}: there is no such log; expected the path of one, or the id of a session of {store.display}"
        )
    return path


@contextmanager
def _local_copy(store: Store, key: str) -> Iterator[Path]:
    found = store.local_path(key)
    if found is not None:
        yield found
        return
    with scratch_folder("log") as folder:
        with store.open(key) as source, open(folder / LOG, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
        yield folder / LOG
