"""CPU time of the four built-in scorers and of `floor.py` on the same rows, in one thread, without reading and writing.

python benchmarks/scoring.py FILE      one JSON object: milliseconds for a part of `rows` rows, the least of some rounds
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "1"

import floor
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import scorers

ROWS_PER_PART = 55_550  # as `assay score` cuts the million rows
PARTS = 3
ROUNDS = 9
BUILTINS: dict[str, Any] = {
    "exact_match": scorers.exact_match(),
    "contains": scorers.contains(inputs=("output", "needle")),
    "regex_match": scorers.regex_match(floor.PATTERN),
    "levenshtein": scorers.levenshtein(),
}


def parts(source: Path) -> list[pa.Table]:
    """The first parts of the file."""
    batches = pq.ParquetFile(source).iter_batches(ROWS_PER_PART, columns=["output", "expected", "needle"])
    return [pa.Table.from_batches([batch]) for _, batch in zip(range(PARTS), batches, strict=False)]


def cpu_ms(work: Callable[[Any], object], tables: Sequence[Any]) -> float:
    """Milliseconds for one of the tables."""
    rounds = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for table in tables:
            work(table)
        rounds.append(time.process_time() - started)
    return round(1000 * min(rounds) / len(tables), 1)


def run(source: Path) -> dict[str, float]:
    """Milliseconds by what was measured; each scorer alone strips its texts itself, together they share them."""
    tables = parts(source)
    found = {
        # A table of its own each time: nothing is kept from the round before.
        name: cpu_ms(lambda table, scorer=scorer: scorer.score(table.slice(0)), tables)  # type: ignore[misc]
        for name, scorer in BUILTINS.items()
    }
    return found | {
        "rows": sum(table.num_rows for table in tables) / len(tables),
        "together": cpu_ms(_score_all, tables),
        "floor": cpu_ms(floor.score, [pl.DataFrame(table) for table in tables]),
    }


def _score_all(table: pa.Table) -> None:
    rows = table.slice(0)
    for scorer in BUILTINS.values():
        scorer.score(rows)


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]))))
