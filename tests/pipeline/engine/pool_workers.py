"""Workers that ask a pool with resources of its own, and its members."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from part_workers import receipt_of

from pipeline.engine import Place, Resources, Service, ServiceSpec
from pipeline.records.plan import Part, Receipt


@dataclass(frozen=True)
class Doubling:
    """Members that double numbers, and misbehave once on some."""

    folder: Path
    how: Mapping[int, str] = field(default_factory=dict)
    resources: Resources = field(default_factory=Resources)

    def open(self, place: Place) -> Service:
        (self.folder / f"opened-{os.getpid()}").touch()
        return Member(self)


class Member:
    def __init__(self, spec: Doubling) -> None:
        self._spec = spec

    def serve(self, request: Any) -> Any:
        before = self._spec.folder / f"asked-{request}"
        is_first = not before.exists()
        before.touch()
        match self._spec.how.get(request):
            case "raises":
                raise ValueError("no such number")
            case "dies once" if is_first:
                os._exit(1)
            case "hangs once" if is_first:
                time.sleep(600)
            case _:
                pass
        return {"twice": 2 * request, "pid": os.getpid()}

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class AskingWork:
    """Each part asks for twice its number."""

    services: Mapping[str, ServiceSpec]
    urls: tuple[str, ...] = ()
    parts_at_once: int = 1

    def open(self, place: Place) -> AskingWorker:
        return AskingWorker(place)


class AskingWorker:
    def __init__(self, place: Place) -> None:
        self._place = place

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:
        answer = self._place.services["doubling"](part.index) if self._place.services else {}
        return receipt_of(part, {**answer, "worker": os.getpid()})

    def keep_rows(self, part: Part, first_row: int, rows: int, lost: str | None = None) -> None:
        pass

    def rows_finished(self) -> int:
        return 0

    def rows_in_work(self) -> int:
        return 0

    def close(self) -> None:
        pass
