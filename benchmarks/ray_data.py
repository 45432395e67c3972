"""The spine's job through Ray Data with assay's own scorers: `map_batches` from Parquet to Parquet, on two CPUs.

    python benchmarks/ray_data.py FILE FOLDER      one JSON object with `duration_s`, from reading to the last file

The clock starts when Ray stands and has done the same work on a few rows. Blocks and batches are Ray
Data's own choice (fixed sizes were slower here); files are compressed as assay's are.
"""

import json
import logging
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from floor import PATTERN

CPUS = 2
WARM_ROWS = 500
WARM_FILES = 8
OWN_FOLDERS = f"{Path(__file__).parent}:{Path(__file__).parents[1]}"
WRITTEN = {"compression": "zstd", "compression_level": 1}


def score(rows: pa.Table) -> pa.Table:
    """The rows with value and metadata of the four scorers beside them."""
    import scorers

    for scorer in (
        scorers.exact_match(name="exact"),
        scorers.contains(inputs=("output", "needle")),
        scorers.regex_match(PATTERN, name="regex"),
        scorers.levenshtein(),
    ):
        found = scorer.score(rows)
        rows = rows.append_column(f"{scorer.name}_value", found.value)
        rows = rows.append_column(f"{scorer.name}_metadata", found.metadata)
    return rows


def work(source: Path, folder: Path) -> None:
    """Score a file, or a folder of files, and write the result."""
    import ray.data

    rows = ray.data.read_parquet(str(source))
    scored = rows.map_batches(score, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
    scored.write_parquet(str(folder), **WRITTEN)


def warm(source: Path) -> None:
    """The same work on a few rows in some files, so that every worker process is there and has loaded its libraries."""
    rows = pq.ParquetFile(source).read_row_group(0)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        few = Path(name, "rows")
        few.mkdir()
        for number in range(WARM_FILES):
            pq.write_table(rows.slice(number * WARM_ROWS, WARM_ROWS), few / f"{number}.parquet")
        work(few, Path(name, "result"))


def seconds(source: Path, folder: Path) -> float:
    """How long it takes once everything is warm."""
    import ray
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    environment = {"env_vars": {"POLARS_MAX_THREADS": "1", "PYTHONPATH": OWN_FOLDERS}}
    ray.init(
        address="local", num_cpus=CPUS, include_dashboard=False, runtime_env=environment, log_to_driver=False,
        logging_level=logging.ERROR,
    )  # fmt: skip
    ray.data.DataContext.get_current().enable_progress_bars = False
    warm(source)
    started = time.perf_counter()
    work(source, folder)
    taken = time.perf_counter() - started
    ray.shutdown()
    return taken


if __name__ == "__main__":
    print(json.dumps({"duration_s": round(seconds(Path(sys.argv[1]), Path(sys.argv[2])), 3)}))
