"""What the engine itself costs: parts that do nothing.

python benchmarks/engine_overhead.py [--short]             one JSON object
python benchmarks/engine_overhead.py PARTS [inline|ray]    three runs as text
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from report import Row, tell

from pipeline.engine import Event, PartDone, Place, Started, StopSignal, execute
from pipeline.records.plan import Part, Receipt

PARTS, SHORT_PARTS = 10_000, 200
RUNS = 3
MAX_CPU_MS = 1.0


class Nothing:
    """Spec and worker in one: its receipts are empty."""

    urls: tuple[str, ...] = ()

    parts_at_once = 1
    services: ClassVar[Mapping[str, object]] = {}

    def open(self, place: Place) -> Nothing:  # noqa: ARG002 - the protocol's
        return self

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:  # noqa: ARG002
        return Receipt(plan_sha256="0" * 64, part=part.index, rows=part.rows, first_row=part.first_row, files=())

    def keep_rows(self, part: Part, first_row: int, rows: int, lost: str | None = None) -> None:
        pass

    def rows_finished(self) -> int:
        return 0

    def close(self) -> None:
        pass


class Overhead(NamedTuple):
    """Of one run."""

    parts: int
    start_s: float
    """Until the first worker lives."""
    work_s: float
    """From there to the last receipt."""
    end_s: float
    cpu_ms: float
    """CPU time of the driver a part, the start of the engine and its end included."""


def overhead(n_parts: int, engine: str) -> Overhead:
    """Carry out parts of nothing."""
    at: dict[type, float] = {}

    def on_event(event: Event) -> None:
        if type(event) not in at or isinstance(event, PartDone):
            at[type(event)] = time.perf_counter()

    parts = [Part(index=index, first_row=index, rows=1) for index in range(n_parts)]
    began, cpu = time.perf_counter(), time.process_time()
    execute(Nothing(), parts, engine=engine, on_event=on_event, stop=StopSignal())
    ended, cpu_ms = time.perf_counter(), 1000 * (time.process_time() - cpu) / n_parts
    return Overhead(n_parts, at[Started] - began, at[PartDone] - at[Started], ended - at[PartDone], cpu_ms)


def measure(is_short: bool) -> list[Row]:
    """Short: a few parts in this process."""
    n_parts, engine = (SHORT_PARTS, "inline") if is_short else (PARTS, "ray")
    runs = [overhead(n_parts, engine) for _ in range(RUNS)]
    cpu_ms = statistics.median(run.cpu_ms for run in runs)
    return [
        Row(
            f"driver CPU a part, {PARTS:,} parts of nothing",
            f"{cpu_ms:.2f} ms",
            target=f"≤ {MAX_CPU_MS:g} ms",
            is_met=cpu_ms <= MAX_CPU_MS,
            detail="user and system time of the driver's process over the whole run on a local Ray, two workers; "
            f"median of {RUNS} runs of one process, the first of which starts Ray: "
            f"{', '.join(f'{run.cpu_ms:.2f}' for run in runs)} ms. A part took "
            f"{', '.join(f'{1000 * run.work_s / n_parts:.2f}' for run in runs)} ms of time in all.",
        )
    ]


def _print_runs(n_parts: int, engine: str = "ray") -> None:
    for _ in range(RUNS):
        run = overhead(n_parts, engine)
        print(
            f"{engine}, {n_parts} parts: {run.start_s:.2f} s to the first worker, {run.work_s:.3f} s for the parts, "
            f"{run.end_s:.2f} s to the end; {run.cpu_ms:.3f} ms of driver CPU a part"
        )


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["--short"]):
        tell(measure)
    else:
        _print_runs(int(sys.argv[1]), *sys.argv[2:])
