"""What the engine itself costs: parts that do nothing. `python benchmarks/engine_overhead.py [PARTS] [inline|ray]`."""

from __future__ import annotations

import sys
import time

from pipeline.engine import Event, PartDone, Place, Started, StopSignal, execute
from pipeline.records.plan import Part, Receipt


class Nothing:
    """Spec and worker in one: its receipts are empty."""

    urls: tuple[str, ...] = ()

    parts_at_once = 1
    services: dict[str, object] = {}

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


def measure(n_parts: int, engine: str) -> str:
    at: dict[type, float] = {}

    def on_event(event: Event) -> None:
        if type(event) not in at or isinstance(event, PartDone):
            at[type(event)] = time.perf_counter()

    parts = [Part(index=index, first_row=index, rows=1) for index in range(n_parts)]
    began, cpu = time.perf_counter(), time.process_time()
    execute(Nothing(), parts, engine=engine, on_event=on_event, stop=StopSignal())
    ended, cpu_ms = time.perf_counter(), 1000 * (time.process_time() - cpu) / n_parts
    return (
        f"{engine}, {n_parts} parts: {at[Started] - began:.2f} s to the first worker, "
        f"{at[PartDone] - at[Started]:.3f} s for the parts, {ended - at[PartDone]:.2f} s to the end; "
        f"{cpu_ms:.3f} ms of driver CPU a part"
    )


if __name__ == "__main__":
    for _ in range(3):
        print(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, sys.argv[2] if len(sys.argv) > 2 else "ray"))
