"""The file of a capture: where one of a session is, and whether it is as it was written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import CorruptError, InputError
from pipeline.records.capture import Capture
from pipeline.records.digest import digest_bytes
from pipeline.session.session_files import CAPTURE, LOG, SessionLog
from pipeline.session.spec_file import LoadedSpec
from pipeline.store import Store
from pipeline.store.open_url import input_size, open_input

MAX_BYTES = 1 << 29  # a capture is parsed as a whole, and takes several times as much memory


class FoundCapture(NamedTuple):
    """A capture, and what errors call it."""

    capture: Capture
    where: str

    def check_session(self, session: str) -> None:
        """Refuse the capture of another session. Raises InputError."""
        if self.capture.session != session:
            raise InputError(
                f"{self.where}: is the capture of session {self.capture.session}, not of {session}, which is checked; "
                "name the capture that was recorded with it, or leave the spec's field capture out"
            )


def find_capture(log: SessionLog, store: Store, loaded: LoadedSpec) -> FoundCapture | None:
    """The capture that stands beside a session's log, else the spec's; None: there is neither.

    Args:
        log: of the session.
        store: that of the log, if it was asked for by its id.
        loaded: the spec, whose `capture_sha256` pins its own file.

    Raises:
        InputError: what stands there is no plain file, too large, or cannot be read.
        CorruptError: it is no capture, or not as it was written, or not the one that is pinned.
    """
    if log.session is not None and store.exists(key := f"sessions/{log.session}/{CAPTURE}"):
        where = f"{store.display}/{key}"
        return FoundCapture(load_capture(store.read(key), where), where)
    beside = log.path.with_name(CAPTURE)
    if log.session is None and log.path.name == LOG and os.path.lexists(beside):
        return FoundCapture(load_capture(read_capture_file(beside), str(beside)), str(beside))
    named = loaded.capture
    if named is None or not os.path.lexists(named):
        return None
    data, pinned = read_capture_file(named), loaded.spec.capture_sha256
    if pinned is not None and digest_bytes(data) != pinned:
        raise CorruptError(
            f"{named}: has the SHA-256 {digest_bytes(data)}, the spec pins {pinned}; restore the capture",
            key=str(named),
        )
    return FoundCapture(load_capture(data, str(named)), str(named))


def load_capture(data: bytes, where: str) -> Capture:
    """Read a capture, and check it by the digest that it carries.

    Args:
        data: the bytes of the file, as `Capture.to_bytes` wrote them.
        where: what errors call it, such as its path.

    Raises:
        CorruptError: no capture, or other bytes than were written.
    """
    capture = Capture.from_bytes(data, where)
    # A digest over bytes of another form would not be the one of the payload that a trajectory holds.
    if capture.to_bytes().rstrip() != data.rstrip():
        raise CorruptError(f"{where}: is not canonical JSON, as captures are written; restore it", key=where)
    return capture


def read_capture_file(path: Path) -> bytes:
    """The bytes of a capture's file. Raises InputError: no plain file, too large, or it cannot be read."""
    size = input_size(path)
    if size > MAX_BYTES:
        raise InputError(f"{path}: has {size:,} bytes, more than the {MAX_BYTES:,} that a capture may have")
    with open_input(path) as file:
        return file.read()
