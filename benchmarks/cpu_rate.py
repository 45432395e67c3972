"""Rows a CPU-second of `assay score` as a whole command in one process, from its start to its commit."""

import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import rows
import spine
from inputs import million_rows
from processes import run

TURNS = 3


class Rate(NamedTuple):
    """Of the million rows."""

    rows_per_cpu_s: float
    """Median."""
    cpu_s: list[float]


def own_rate(result: Path, scorers: Sequence[str] = spine.SCORERS) -> Rate:
    """Score the million rows a few times; the last result stays in `result`."""
    taken = []
    for _ in range(TURNS):
        shutil.rmtree(result, ignore_errors=True)
        taken.append(run(spine.command([million_rows()], result, scorers=scorers, engine="inline")).cpu_s)
    return Rate(rows.ROWS / statistics.median(taken), taken)
