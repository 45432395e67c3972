"""Runs where autoevals is installed: two of its scorers in a loop. `python autoevals_loop.py FILE ROWS RESULT`.

Prints the CPU seconds of the loop alone. Texts are stripped before, since its scorers compare them as they are.
"""

import json
import sys
import time
from importlib.metadata import version

import pyarrow as pa
import pyarrow.parquet as pq
from autoevals.string import Levenshtein
from autoevals.value import ExactMatch


def run(source: str, n_rows: int, target: str) -> dict[str, float | str]:
    """Score the first rows."""
    rows = next(pq.ParquetFile(source).iter_batches(n_rows))
    ids, outputs, expected = (rows.column(name).to_pylist() for name in ("id", "output", "expected"))
    pairs = [(a.strip(), b.strip()) for a, b in zip(outputs, expected, strict=True)]
    exact, levenshtein = ExactMatch(), Levenshtein()
    started = time.process_time()
    scores = [
        (exact(output=a, expected=b).score, levenshtein(output=a, expected=b).score) for a, b in pairs
    ]  # fmt: skip
    cpu_s = time.process_time() - started
    columns = [[float(value) for value in column] for column in zip(*scores, strict=True)]
    pq.write_table(pa.table({"id": ids, "exact": columns[0], "levenshtein": columns[1]}), target)
    return {"cpu_s": cpu_s, "version": version("autoevals")}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
