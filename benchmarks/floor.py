"""The floor: what a careful person writes by hand with polars and rapidfuzz for this one job, on two processes.

    python benchmarks/floor.py FILE FOLDER      one JSON object with the seconds from the first read to the last write

It knows more than a scorer may: no text is null, needles are plain words (nothing to escape, no lists), and only blanks
lie around the outputs. Processes are started and libraries loaded before the clock runs.
"""

import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any

PROCESSES = 2
ROWS_PER_SLICE = 65_536
START_TIMEOUT_S = 60.0
PATTERN = r"(?P<number>\d{4,}) (?P<next>[a-m]\w*)"


def exact(row_texts: Any) -> Any:
    """Equality, as value and metadata."""
    import polars as pl

    equal = pl.col("a") == pl.col("b")
    text = pl.when(equal).then(pl.lit('{"matched":true}')).otherwise(pl.lit('{"matched":false}'))
    return row_texts.select(equal.cast(pl.Float64).alias("exact_value"), text.alias("exact_metadata"))


def contains(row_texts: Any) -> Any:
    """Whether the needle occurs."""
    import polars as pl

    found = row_texts.select(pl.col("a").str.contains(pl.col("needle"), literal=True)).to_series()
    needle = pl.concat_str(pl.lit('"'), pl.col("needle"), pl.lit('"'))
    text = (
        pl.when(found)
        .then(pl.concat_str(pl.lit('{"matched":['), needle, pl.lit('],"missing":[]}')))
        .otherwise(pl.concat_str(pl.lit('{"matched":[],"missing":['), needle, pl.lit("]}")))
    )
    return row_texts.select(found.cast(pl.Float64).alias("contains_value"), text.alias("contains_metadata"))


def regex(row_texts: Any) -> Any:
    """The first match with its groups; none of the matched texts needs an escape."""
    import polars as pl

    groups = pl.col("output").str.extract_groups(PATTERN)
    found = row_texts.select(groups.struct.field("number"), groups.struct.field("next"))
    number, following = pl.col("number"), pl.col("next")
    text = pl.concat_str(
        pl.lit('{"groups":{"next":"'), following, pl.lit('","number":"'), number,
        pl.lit('"},"match":"'), number, pl.lit(" "), following, pl.lit('"}'),
    )  # fmt: skip
    return found.select(
        number.is_not_null().cast(pl.Float64).alias("regex_value"),
        pl.when(number.is_not_null())
        .then(text)
        .otherwise(pl.lit('{"groups":{},"match":null}'))
        .alias("regex_metadata"),
    )


def levenshtein(row_texts: Any) -> Any:
    """Edit distance; only of the rows that differ, since reading a text into Python is half of its cost."""
    import polars as pl
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    a, b = row_texts["a"], row_texts["b"]
    differ = (a != b).arg_true()
    found = cpdist(a.gather(differ).to_list(), b.gather(differ).to_list(), scorer=Levenshtein.distance, workers=1)
    distance = pl.zeros(len(a), pl.Int32, eager=True).scatter(differ, pl.Series(found, dtype=pl.Int32))
    longest = pl.max_horizontal(pl.col("a").str.len_chars(), pl.col("b").str.len_chars())
    return row_texts.select(
        (1.0 - distance / longest).alias("levenshtein_value"),
        pl.concat_str(pl.lit('{"distance":'), distance.cast(pl.String), pl.lit("}")).alias("levenshtein_metadata"),
    )


def score(rows: Any) -> Any:
    """The rows with the columns of the four scorers beside them."""
    import polars as pl

    row_texts = rows.with_columns(a=pl.col("output").str.strip_chars(), b=pl.col("expected").str.strip_chars())
    columns = [scorer(row_texts) for scorer in (exact, contains, regex, levenshtein)]
    return pl.concat([rows, *columns], how="horizontal")


def work(number: int, source: str, folder: str, ready: Any, seconds: Any) -> None:
    """Every second slice, each to a file of its own."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl
    import rapidfuzz.process  # noqa: F401 - loaded before the clock runs

    n_rows = pl.scan_parquet(source).select(pl.len()).collect().item()
    ready.wait(timeout=START_TIMEOUT_S)
    started = time.perf_counter()
    for first in range(number * ROWS_PER_SLICE, n_rows, PROCESSES * ROWS_PER_SLICE):
        rows = pl.scan_parquet(source).slice(first, ROWS_PER_SLICE).collect()
        score(rows).write_parquet(f"{folder}/{first:09}.parquet", compression="zstd", compression_level=1)
    seconds.put(time.perf_counter() - started)


def run(source: Path, folder: Path) -> float:
    """Seconds that the slower process took."""
    folder.mkdir(parents=True, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")
    ready, seconds = spawn.Barrier(PROCESSES), spawn.SimpleQueue()
    workers = [
        spawn.Process(target=work, args=(number, str(source), str(folder), ready, seconds))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed := [worker.exitcode for worker in workers if worker.exitcode]:
        raise SystemExit(f"{len(failed)} of {PROCESSES} processes failed")
    return max(seconds.get() for _ in workers)


if __name__ == "__main__":
    print(json.dumps({"duration_s": round(run(Path(sys.argv[1]), Path(sys.argv[2])), 3)}))
