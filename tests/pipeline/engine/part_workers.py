"""Workers that leave a trace of every call, and that misbehave on the parts they are told to."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.engine import Event, Place, ServiceSpec, StopSignal, execute
from pipeline.errors import InterruptedRunError, RetryError, StoreError, UnavailableError
from pipeline.records.plan import Part, Receipt


class HeldLock(Exception):
    """Cannot be pickled, and cannot be shown."""

    def __init__(self) -> None:
        super().__init__(threading.Lock())

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Panic(BaseException):
    """No Exception, as what polars raises when its Rust code panics."""


@dataclass(frozen=True)
class TraceWork:
    """Writes one file a call into `folder`; `behaviour` names what else happens on a part."""

    folder: Path
    behaviour: Mapping[int, str] = field(default_factory=dict)
    poison: frozenset[int] = frozenset()
    """Rows that end whoever has them in work."""
    opens: str = "well"
    urls: tuple[str, ...] = ()

    parts_at_once: int = 1
    services: Mapping[str, ServiceSpec] = field(default_factory=dict)

    def open(self, place: Place) -> TraceWorker:
        if self.opens == "badly":
            raise StoreError("no such bucket", key="runs/1")
        if self.opens == "in panic":
            raise Panic("index out of bounds")
        if self.opens == "never":
            os._exit(1)
        return TraceWorker(self, place.workers)


class TraceWorker:
    def __init__(self, work: TraceWork, workers: int) -> None:
        self._work, self._workers = work, workers

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:
        calls = len(list(self._work.folder.glob(f"part-{part.index}-*")))
        (self._work.folder / f"part-{part.index}-{uuid.uuid4()}").touch()
        rows = range(part.first_row, part.first_row + part.rows)
        if any(row in self._work.poison and not self._kept(row).exists() for row in rows):
            kill_this_process()
        behaviour = self._work.behaviour.get(part.index, "")
        if behaviour == "is slow, row by row":
            for row in rows:
                time.sleep(1)
                (self._work.folder / f"finished-{row}").touch()
        behave(behaviour, calls)
        sums = {
            "pid": os.getpid(),
            "workers": self._workers,
            "threads": os.environ.get("POLARS_MAX_THREADS"),
            "path": sys.path[:1],
        }
        return receipt_of(part, sums)

    def keep_rows(self, part: Part, first_row: int, rows: int, lost: str | None = None) -> None:
        for row in range(first_row, first_row + rows):
            if row in self._work.poison and lost is None:
                kill_this_process()
            self._kept(row).write_text(lost or "")

    def _kept(self, row: int) -> Path:
        return self._work.folder / f"kept-{row}"

    def rows_finished(self) -> int:
        return len(list(self._work.folder.glob("finished-*")))

    def rows_in_work(self) -> int:
        return 0

    def close(self) -> None:
        (self._work.folder / f"closed-{os.getpid()}").touch()


def kill_this_process() -> None:
    """After the answers of earlier parts have left it: a kill that takes them along loses those parts too."""
    time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGKILL)


def behave(how: str, earlier_calls: int) -> None:
    match how:
        case "raises":
            raise ValueError("seven is not a colour")
        case "raises what cannot be pickled":
            raise HeldLock
        case "panics":
            raise Panic("index out of bounds")
        case "exits":
            sys.exit("gone")
        case "meets a fault of the store":
            raise StoreError("the disk is full", key="data/x")
        case "meets a passing fault" if earlier_calls == 0:
            raise RetryError("503", key="data/x")
        case "never meets the store":
            raise UnavailableError("no answer in 60 s", key="data/x")
        case "is killed once" if earlier_calls == 0:
            kill_this_process()
        case "is always killed":
            kill_this_process()
        case "takes a while":
            time.sleep(0.3)
        case "hangs":
            time.sleep(600)
        case "hangs once" if earlier_calls == 0:
            time.sleep(600)
        case _:
            pass


def receipt_of(part: Part, sums: dict[str, Any]) -> Receipt:
    return Receipt(plan_sha256="0" * 64, part=part.index, rows=part.rows, first_row=part.first_row, files=(), sums=sums)


def parts_of(n: int) -> list[Part]:
    return [Part(index=index, first_row=10 * index, rows=10) for index in range(n)]


def calls_of(folder: Path, part: int) -> int:
    return len(list(folder.glob(f"part-{part}-*")))


class Run:
    """One run, with everything that it told."""

    def __init__(self, work: TraceWork, n_parts: int, *, stop: StopSignal | None = None, **options: Any) -> None:
        self.events: list[Event] = []
        self.stop = stop or StopSignal()
        self._arguments = (work, parts_of(n_parts))
        self._options = options

    def on_event(self, event: Event) -> None:
        self.events.append(event)

    def execute(self) -> dict[int, Receipt]:
        return execute(*self._arguments, on_event=self.on_event, stop=self.stop, **self._options)

    def execute_until_stopped(self) -> None:
        with contextlib.suppress(InterruptedRunError):
            self.execute()

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]
