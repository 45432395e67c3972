"""A capture as it is read for a replay: whole, as it was written, and of this spec; else the replay is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pipeline.errors import CorruptError, InputError, ReplayError
from pipeline.records.capture import Capture, ProviderExchange
from pipeline.records.digest import digest_bytes
from pipeline.records.refusals import ReplayRefusal
from pipeline.session.capture_file import load_capture, read_capture_file
from pipeline.session.spec_file import LoadedSpec


def refused(refusal: ReplayRefusal, message: str) -> ReplayError:
    """The error of a replay that is refused."""
    return ReplayError(f"the replay is refused ({refusal.value}): {message}", refusal.value)


def read_capture(path: Path, loaded: LoadedSpec) -> Capture:
    """Read the capture of a spec.

    Raises:
        InputError: there is no such file.
        ReplayError: it is not what was written, not the pinned one, of another spec, or its exchanges are out of order.
    """
    if not os.path.lexists(path):
        raise InputError(f"{path}: there is no such capture; `assay eval run` records one")
    data = read_capture_file(path)
    pinned = loaded.spec.capture_sha256
    if pinned is not None and digest_bytes(data) != pinned:
        raise refused(ReplayRefusal.INTEGRITY, f"{path} is not the capture that capture_sha256 pins")
    capture = parse_capture(data, str(path))
    check_order(capture, str(path))
    if capture.spec_sha256 != loaded.sha256:
        raise refused(
            ReplayRefusal.DIVERGED,
            f"spec_sha256: {path} was recorded with another spec than {loaded.path} as it is now; "
            f"judge that session by it (assay eval check --session {capture.session}), or record it again",
        )
    return capture


def parse_capture(data: bytes, where: str) -> Capture:
    """A capture from the bytes of its file.

    Raises:
        ReplayError: they are not the bytes that were written.
    """
    if data != data.rstrip() + b"\n":
        raise refused(ReplayRefusal.INTEGRITY, f"{where}: does not end as it was written")
    try:
        capture = load_capture(data, where)
    except CorruptError as error:
        raise refused(ReplayRefusal.INTEGRITY, str(error)) from None
    for exchange in capture.exchanges:
        if isinstance(exchange, ProviderExchange) and exchange.request.digest() != exchange.request_sha256:
            raise refused(
                ReplayRefusal.INTEGRITY, f"{where}: request_sha256 of exchange {exchange.sequence} is not its request's"
            )
    return capture


def check_order(capture: Capture, where: str) -> None:
    """Whether every exchange stands in its place.

    Raises:
        ReplayError: one is missing, or not in its place.
    """
    numbers = [exchange.sequence for exchange in capture.exchanges]
    if numbers == list(range(len(numbers))):
        return _check_end(capture, where)
    if len(set(numbers)) == len(numbers) and numbers == sorted(numbers):
        missing = next(number for number in range(numbers[-1]) if number not in numbers)
        raise refused(ReplayRefusal.TRUNCATED, f"{where}: exchange {missing} is missing")
    raise refused(ReplayRefusal.REORDERED, f"{where}: its exchanges are numbered {json.dumps(numbers[:20])}")


def _check_end(capture: Capture, where: str) -> None:
    n_exchanges = len(capture.exchanges)
    n_expected = n_exchanges if capture.stopped is None else capture.stopped.after
    if n_expected > n_exchanges:
        raise refused(ReplayRefusal.TRUNCATED, f"{where}: {n_exchanges} exchanges of {n_expected} are there")
    if n_expected < n_exchanges:
        raise refused(ReplayRefusal.UNUSED, f"{where}: the session was stopped after {n_expected} exchanges")
    last = capture.exchanges[-1] if capture.exchanges else None
    failure = last.response.failed if isinstance(last, ProviderExchange) else None
    if failure is not None and failure.error == "canceled" and capture.stopped is None:
        raise refused(ReplayRefusal.TRUNCATED, f"{where}: what stopped the session is missing")
