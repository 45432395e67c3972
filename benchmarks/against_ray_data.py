"""The spine's job by Ray Data and by assay, in turns.

python benchmarks/against_ray_data.py [--short]      one JSON object
"""

import statistics
import tempfile
from pathlib import Path

from against_floor import turns
from inputs import SHORT_ROWS, kept_rows, million_rows
from report import Row, tell

TURNS = 3
MIN_TIMES = 2.0


def measure(is_short: bool) -> list[Row]:
    """Short: few rows, the first turn alone."""
    source = kept_rows(SHORT_ROWS) if is_short else million_rows()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        found = turns("ray_data.py", source, 0 if is_short else TURNS, Path(folder))
    times = 1 / found.ratio
    return [
        Row(
            "the same rows and scorers, Ray Data",
            f"{statistics.median(found.assay):.2f} s",
            f"Ray Data {statistics.median(found.beside):.2f} s",
            f"{times:.2f} times as fast",
            f"≥ {MIN_TIMES:g}",
            times >= MIN_TIMES,
            "assay's own scorers in `map_batches`, Parquet to Parquet, a local Ray of 2 CPUs; without the start of Ray "
            "on either side, and Ray Data has done the same work on a few rows before the clock runs. Turns, assay / "
            f"Ray Data in seconds: {found.text()}. Every value and metadata of every row agreed.",
        )
    ]


if __name__ == "__main__":
    tell(measure)
