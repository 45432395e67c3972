"""Seconds that `assay --help` takes against a Python that imports the libraries of the command line alone.

python benchmarks/start_up.py      one JSON object with both and their ratio
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

TIMES = 11
ASSAY = [str(Path(sys.executable).with_name("assay")), "--help"]
BARE = [sys.executable, "-c", "import typer, rich, pydantic"]


def seconds(command: list[str]) -> float:
    """How long a command takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def run() -> tuple[float, float]:
    """Medians of `assay --help` and of the bare imports, in turns; the first turn fills the caches."""
    turns = [(seconds(ASSAY), seconds(BARE)) for _ in range(TIMES + 1)][1:]
    return statistics.median(a for a, _ in turns), statistics.median(b for _, b in turns)


if __name__ == "__main__":
    assay_s, bare_s = run()
    print(json.dumps({"assay_s": round(assay_s, 3), "bare_s": round(bare_s, 3), "ratio": round(assay_s / bare_s, 2)}))
