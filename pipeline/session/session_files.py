"""Where the log of a session is: in a store by its id, or in a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.session.session_ids import is_session_id
from pipeline.store import Store
from pipeline.store.scratch import scratch_folder

LOG, RECORD, CONFIG = "log.jsonl", "session.json", "config.json"
CAPTURE, END_PATCH, REPORT = "capture.json", "end.patch", "report.json"


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
        text: the id of a session of the store, the path of a log, or the folder of one.
        store: where sessions are looked for; one that is not local is read once, to a temporary file.

    Raises:
        InputError: there is neither such a session nor such a file.
    """
    if is_session_id(text):
        folder = f"sessions/{text}"
        has_log = store.exists(f"{folder}/{LOG}")
        if has_log:
            with _local_copy(store, f"{folder}/{LOG}") as path:
                patch = f"{folder}/{END_PATCH}"
                changed = store.read(patch) if store.exists(patch) else None
                is_cut_off = changed is None and store.exists(f"{folder}/{RECORD}")
                yield SessionLog(path, text, changed, is_cut_off)
            return
        if not os.path.lexists(text):
            raise InputError(f"there is no session {text} in {store.display}; name its store with --store, or its log")
    yield _named(_log_file(text))


def _named(path: Path) -> SessionLog:
    """The log at a path. One that lies where a store keeps it is that session's, with what the session changed."""
    if path.name != LOG or not os.path.isfile(path.with_name(RECORD)):
        return SessionLog(path, None)
    patch = path.with_name(END_PATCH)
    changed = patch.read_bytes() if os.path.isfile(patch) else None
    return SessionLog(path, None, changed, is_cut_off=changed is None)


def _log_file(text: str) -> Path:
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
        raise InputError(f"{named!r}: there is no such log; expected the id of a session, or the path of its log")
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
