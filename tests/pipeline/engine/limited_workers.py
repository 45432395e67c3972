"""Workers whose rows call an endpoint under a rate limit."""

from __future__ import annotations

import time
import urllib.request
from dataclasses import dataclass

from part_workers import TraceWork, TraceWorker, receipt_of

from pipeline.engine import Place
from pipeline.functions.rate import RateLimiter
from pipeline.records.limits import LimitRule
from pipeline.records.plan import Part, Receipt


@dataclass(frozen=True)
class LimitedWork(TraceWork):
    """Each row of a part waits for a permit and calls `url`."""

    url: str = ""
    calls_per_s: float = 1.0

    def open(self, place: Place) -> LimitedWorker:
        return LimitedWorker(self, place)


class LimitedWorker(TraceWorker):
    def __init__(self, work: LimitedWork, place: Place) -> None:
        super().__init__(work, place.workers)
        assert place.limits is not None
        self._url = work.url
        self._limiter = RateLimiter(LimitRule("key of a run", work.calls_per_s), place.limits, share=place.workers)

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:
        began = time.monotonic()
        for _ in range(part.rows):
            self._limiter.wait()
            urllib.request.urlopen(self._url, timeout=30).close()
        return receipt_of(part, {"began": began})
