"""The rows that benchmarks share, kept in the temporary folder for as long as their generator does not change."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import rows

SHORT_ROWS = 20_000


def million_rows() -> Path:
    """The file that every benchmark of the spine reads."""
    return kept_rows(rows.ROWS)


def kept_rows(n_rows: int) -> Path:
    """A file of so many rows from the first."""
    digest = hashlib.sha256(Path(rows.__file__).read_bytes()).hexdigest()[:12]
    target = Path(tempfile.gettempdir()) / f"assay-bench-{digest}-{n_rows}.parquet"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}")
        rows.write_rows(partial, n_rows)
        partial.rename(target)
    return target


def more_rows(folder: Path, first_rows: Sequence[int], n_rows: int) -> list[Path]:
    """A file for each first row, all of other rows; made in two processes."""
    targets = [folder / f"{first:09}.parquet" for first in first_rows]
    jobs = [
        [sys.executable, rows.__file__, str(target), str(n_rows), str(first)]
        for target, first in zip(targets, first_rows, strict=True)
    ]
    for number in range(0, len(jobs), 2):
        running = [subprocess.Popen(job) for job in jobs[number : number + 2]]
        statuses = [process.wait() for process in running]
        if any(statuses):
            raise SystemExit("rows could not be made")
    return targets
