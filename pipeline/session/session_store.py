"""Where the files of a session go: its log while it is written, the rest when there is something to write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import ExistsError, InterruptedRunError
from pipeline.records.agent_config import AgentConfig
from pipeline.records.capture import Capture
from pipeline.records.session import SessionRecord
from pipeline.session.log_mirror import mirrored_log
from pipeline.session.session_files import CAPTURE, CONFIG, END_PATCH, LOG, RECORD
from pipeline.store import Store
from pipeline.store.scratch import scratch_folder


@contextmanager
def opened_session(store: Store, record: SessionRecord, config: AgentConfig) -> Iterator[Path]:
    """Begin a session in a store; the path of its log, for as long as the block lasts.

    In a local store the log is written where it belongs, so that nothing is lost with the process. Elsewhere it is
    sent from time to time, and when the block ends, however it ends.

    Raises:
        ExistsError: there is a session of that id.
        InterruptedRunError: Ctrl-C came while the block ran.
    """
    folder = f"sessions/{record.session}"
    data = record.to_bytes()
    if store.create(f"{folder}/{RECORD}", data) != data:
        raise ExistsError(f"{store.display}: session {record.session} is there already")
    store.create(f"{folder}/{CONFIG}", config.to_bytes())
    try:
        with _placed_log(store, folder) as path:
            yield path
    except KeyboardInterrupt:  # also while it is judged
        raise InterruptedRunError(
            f"interrupted; session {record.session} is kept as far as it went: "
            f"assay eval check --session {record.session} judges it"
        ) from None


@contextmanager
def _placed_log(store: Store, folder: str) -> Iterator[Path]:
    placed = store.local_path(f"{folder}/{RECORD}")
    if placed is not None:
        yield placed.with_name(LOG)
        return
    with scratch_folder("log") as scratch, mirrored_log(store, f"{folder}/{LOG}", scratch / LOG):
        yield scratch / LOG


def keep_capture(store: Store, capture: Capture) -> None:
    """Put what a session exchanged and what it changed beside its log. The patch last: it says that all is there."""
    folder = f"sessions/{capture.session}"
    store.create(f"{folder}/{CAPTURE}", capture.to_bytes())
    store.create(f"{folder}/{END_PATCH}", capture.workspace.patch_base64)
