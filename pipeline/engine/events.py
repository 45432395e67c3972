"""What the engine tells whoever started it, in the thread that runs `execute`. Nothing here is of the data's size."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.records.plan import Receipt


class Started(NamedTuple):
    """The engine stands, with at least one worker; the first part is about to be handed out."""

    parts: int
    rows: int
    engine: str
    """`inline` or `ray`."""
    workers: int
    where: str
    """`this process`, `local Ray`, or the address of the cluster."""


class PartDone(NamedTuple):
    """A part's receipt stands on the store."""

    receipt: Receipt
    seconds: float
    """In the worker; waiting is not counted."""
    worker: str


class RowsInWork(NamedTuple):
    """How many rows are done of parts that are not, about: those that a kill may lose.

    A part that is done takes its rows from this number, without another event.
    """

    rows: int


class PartFailed(NamedTuple):
    """A part was not done, for a reason that may pass; it is tried again."""

    part: int
    attempt: int
    """1 for the first."""
    message: str
    worker: str


class RowBlamed(NamedTuple):
    """A row ended its workers again and again: it comes out with an error of owner harness."""

    part: int
    row: int
    """Position in the whole input."""
    message: str


class Waiting(NamedTuple):
    """No worker lives and none has come for `seconds`, though the cluster has room: others may be using it."""

    seconds: float
    message: str


class Stopping(NamedTuple):
    """No new part is handed out; those in work have until the end of the grace period."""

    parts_in_work: int


Event = Started | PartDone | RowsInWork | PartFailed | RowBlamed | Waiting | Stopping
