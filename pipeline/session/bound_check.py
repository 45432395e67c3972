"""Checks a session that is already there, and binds the report to the very bytes that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.records.trajectory import Trajectory
from pipeline.session.capture_file import find_capture
from pipeline.session.check import CheckOptions, check_session
from pipeline.session.log_bytes import LogBytes
from pipeline.session.session_files import LOG, SessionLog
from pipeline.session.spec_file import LoadedSpec
from pipeline.session.trajectory import make_trajectory
from pipeline.store import Store
from pipeline.store.scratch import scratch_folder

MAX_LOG_BYTES = 1 << 29  # a trajectory holds the whole log in base64, in memory


class _KeptLog(NamedTuple):
    log: SessionLog
    data: bytes


def check_and_bind(loaded: LoadedSpec, log: SessionLog, store: Store, options: CheckOptions) -> Trajectory:
    """Judge a session as `check_session` does, and bind log, capture and report.

    Without a capture, or where the log is not known to be of any session, the trajectory is evidence alone.

    Raises:
        InputError: the capture is of another session, or the log is too large to be held in one object.
        CorruptError: the capture is not as it was written.
        SandboxError: there are commands to be run, and the driver cannot be had here.
        WorkspaceError: git is needed and not installed.
    """
    found = find_capture(log, store, loaded)
    if found is not None and log.session is not None:
        found.check_session(log.session)  # before any command is run
    with _kept(log) as kept:
        report = check_session(loaded, kept.log, options)
        if found is not None and report.session is not None:
            found.check_session(report.session)
        capture = None if found is None or report.session is None else found.capture
        return make_trajectory(kept.data, capture, report, version=options.version)


@contextmanager
def _kept(log: SessionLog) -> Iterator[_KeptLog]:
    """The log as it stands now, also as a file that nobody else writes to."""
    with LogBytes(log.path, has_digest=False) as source:
        if source.size > MAX_LOG_BYTES:
            raise InputError(
                f"{log.path}: has {source.size:,} bytes, more than the {MAX_LOG_BYTES:,} that a trajectory can hold; "
                "check it without --trajectory"
            )
        data = source.read_whole()
    with scratch_folder("log") as folder:
        (folder / LOG).write_bytes(data)
        yield _KeptLog(log._replace(path=folder / LOG), data)
