"""Memory and time against rows: 1, 3 and 10 million.

python benchmarks/growth.py [--short]      one JSON object

The rows are made on the fly, a file a million, and deleted afterwards: 3 GB of input and as much of result at a time.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import spine
from inputs import SHORT_ROWS, kept_rows, more_rows
from memory import Peaks, watch
from report import Row, tell

MILLION = 1_000_000
FILES = (1, 3, 10)
TURNS = 3
MAX_EXPONENT = 1.05
MAX_GROWTH = 1.1
MAX_DRIVER_MB = 300
BYTES_A_ROW = 1_000  # of disk, generously: input, result, and a file that is being written


class Run(NamedTuple):
    """One run of the spine's job."""

    rows: int
    seconds: float
    """First read to commit."""
    peaks: Peaks


def exponent(runs: Sequence[Run]) -> float:
    """The slope of log(seconds) over log(rows), by least squares: 1 where time grows as rows do."""
    xs, ys = [math.log(run.rows) for run in runs], [math.log(run.seconds) for run in runs]
    return statistics.linear_regression(xs, ys).slope


def measure(is_short: bool) -> list[Row]:
    """Short: few rows, a turn of two sizes."""
    rows_a_file, files, n_turns = (SHORT_ROWS, (1, 3), 1) if is_short else (MILLION, FILES, TURNS)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        _check_room(folder, rows_a_file * files[-1])
        firsts = range(rows_a_file, rows_a_file * files[-1], rows_a_file)
        sources = [kept_rows(rows_a_file), *more_rows(folder, firsts, rows_a_file)]
        taken = [
            _run(sources[:n_files], folder / "result", rows_a_file * n_files)
            for _ in range(n_turns)
            for n_files in files
        ]
    return [_worker_row(taken), _driver_row(taken), _time_row(taken)]


def _run(sources: Sequence[Path], result: Path, n_rows: int) -> Run:
    watched = watch(spine.command(sources, result))
    shutil.rmtree(result)
    if not watched.peaks.workers:
        raise SystemExit("no worker was seen: their processes have another name")
    run = Run(n_rows, float(json.loads(watched.stdout)["duration_s"]), watched.peaks)
    print(f"{n_rows:,} rows: {run.seconds:.2f} s, {run.peaks}", file=sys.stderr, flush=True)
    return run


def _check_room(folder: Path, n_rows: int) -> None:
    free, needed = shutil.disk_usage(folder).free, n_rows * BYTES_A_ROW
    if free < needed:
        raise SystemExit(f"{folder} has {free >> 30} GiB free, {n_rows:,} rows need {needed >> 30}: set TMPDIR")


def _of(taken: Sequence[Run], n_rows: int, peak: str) -> float:
    """Median of a peak over the turns, in MB."""
    return statistics.median(getattr(run.peaks, peak) for run in taken if run.rows == n_rows) / 1e6


def _sizes(taken: Sequence[Run], peak: str) -> str:
    return ", ".join(f"{_of(taken, rows, peak):.0f}" for rows in sorted({run.rows for run in taken}))


def _worker_row(taken: Sequence[Run]) -> Row:
    least, most = min(run.rows for run in taken), max(run.rows for run in taken)
    small, large = (_of(taken, rows, "workers_rss") for rows in (least, most))
    return Row(
        "peak memory of the workers, 10M rows against 1M",
        f"{large:.0f} MB",
        f"1M rows: {small:.0f} MB",
        f"{large / small:.2f}",
        f"≤ {MAX_GROWTH}",
        large / small <= MAX_GROWTH,
        f"RSS of both workers together, sampled every 50 ms, medians of {_n_turns(taken)} turns. In MB at "
        f"{_all_rows(taken)} rows: both {_sizes(taken, 'workers_rss')}, the larger one {_sizes(taken, 'worker_rss')}; "
        f"USS, sampled every half second, {_sizes(taken, 'workers_uss')} and {_sizes(taken, 'worker_uss')}. The job is "
        "the spine's, on a Parquet file a million rows.",
    )


def _driver_row(taken: Sequence[Run]) -> Row:
    found = _of(taken, max(run.rows for run in taken), "driver_rss")
    return Row(
        "peak memory of the driver, 10M rows",
        f"{found:.0f} MB",
        target=f"< {MAX_DRIVER_MB} MB",
        is_met=found < MAX_DRIVER_MB,
        detail=f"RSS of the process of `assay score`, the libraries of Ray and Arrow included. In MB at "
        f"{_all_rows(taken)} rows: {_sizes(taken, 'driver_rss')}; USS {_sizes(taken, 'driver_uss')}.",
    )


def _time_row(taken: Sequence[Run]) -> Row:
    found = exponent(taken)
    by_rows = {rows: [run.seconds for run in taken if run.rows == rows] for rows in sorted({r.rows for r in taken})}
    listed = "; ".join(f"{rows:,}: {', '.join(f'{s:.2f}' for s in seconds)}" for rows, seconds in by_rows.items())
    return Row(
        "time against rows, 1M to 10M",
        f"exponent {found:.3f}",
        target=f"≤ {MAX_EXPONENT}",
        is_met=found <= MAX_EXPONENT,
        detail=f"slope of log(seconds) over log(rows), least squares over all turns; seconds by rows: {listed}.",
    )


def _all_rows(taken: Sequence[Run]) -> str:
    return ", ".join(f"{rows:,}" for rows in sorted({run.rows for run in taken}))


def _n_turns(taken: Sequence[Run]) -> int:
    return len(taken) // len({run.rows for run in taken})


if __name__ == "__main__":
    tell(measure)
