"""`assay --help` against a Python that imports the libraries of the command line alone.

python benchmarks/start_up.py [--short]      one JSON object
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from report import Row, tell

TIMES = 11
MAX_RATIO = 1.5
ASSAY = [str(Path(sys.executable).with_name("assay")), "--help"]
BARE = [sys.executable, "-c", "import typer, rich, pydantic"]


def seconds(command: list[str]) -> float:
    """How long a command takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(is_short: bool) -> list[Row]:
    """Both in turns; the first turn fills the caches. Short: one more."""
    turns = [(seconds(ASSAY), seconds(BARE)) for _ in range((1 if is_short else TIMES) + 1)][1:]
    assay, bare = (statistics.median(column) for column in zip(*turns, strict=True))
    return [
        Row(
            "`assay --help`",
            f"{assay:.3f} s",
            f"bare imports {bare:.3f} s",
            f"{assay / bare:.2f}",
            f"≤ {MAX_RATIO}",
            assay / bare <= MAX_RATIO,
            f"start to end of the process, medians of {len(turns)} turns; beside it a Python that imports typer, rich "
            "and pydantic.",
        )
    ]


if __name__ == "__main__":
    tell(measure)
