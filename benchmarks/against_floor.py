"""The spine's job by hand and by assay, in turns.

python benchmarks/against_floor.py [--short]      one JSON object
"""

import shutil
import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple

import agree
from inputs import SHORT_ROWS, kept_rows, million_rows
from processes import figures
from report import Row, tell

TURNS = 5
MAX_RATIO = 1.25


class Turns(NamedTuple):
    """Seconds of both sides, turn by turn."""

    assay: list[float]
    beside: list[float]

    @property
    def ratio(self) -> float:
        """Median of assay's seconds over the other's of the same turn."""
        return statistics.median(a / b for a, b in zip(*self, strict=True))

    def text(self) -> str:
        """All of them."""
        return "; ".join(f"{a:.2f} / {b:.2f}" for a, b in zip(*self, strict=True))


def turns(other: str, source: Path, n_turns: int, folder: Path) -> Turns:
    """Another script and assay on the same rows, in turns; a turn before them fills the caches.

    Raises:
        SystemExit: they do not agree in every value and metadata.
    """
    taken = Turns([], [])
    by_other, by_assay = folder / "other", folder / "assay"
    for turn in range(n_turns + 1):
        for result in (by_other, by_assay):
            shutil.rmtree(result, ignore_errors=True)
        beside = figures(other, source, by_other)["duration_s"]
        assay = figures("spine.py", source, by_assay)["duration_s"]
        if turn or not n_turns:
            taken.assay.append(assay)
            taken.beside.append(beside)
    if differ := agree.columns_that_differ(by_other, by_assay / "data"):
        raise SystemExit(f"{other} and assay do not agree in {', '.join(differ)}")
    return taken


def measure(is_short: bool) -> list[Row]:
    """Short: few rows, the first turn alone."""
    source = kept_rows(SHORT_ROWS) if is_short else million_rows()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        found = turns("floor.py", source, 0 if is_short else TURNS, Path(folder))
    return [
        Row(
            "1,000,000 rows, four scorers with metadata",
            f"{statistics.median(found.assay):.2f} s",
            f"by hand {statistics.median(found.beside):.2f} s",
            f"{found.ratio:.2f}",
            f"≤ {MAX_RATIO}",
            found.ratio <= MAX_RATIO,
            "from the first read to the commit, without the start of processes on either side; medians of "
            f"{len(found.assay)} turns after one that warms the caches. Turns, assay / by hand in seconds: "
            f"{found.text()}. Every value and metadata of every row agreed.",
        )
    ]


if __name__ == "__main__":
    tell(measure)
