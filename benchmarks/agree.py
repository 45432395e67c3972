"""That the floor and assay computed the same: every value and every metadata of every row."""

from pathlib import Path

import polars as pl

SCORERS = ("exact", "contains", "regex", "levenshtein")
TOLERANCE = 1e-12


def columns_that_differ(floor: Path, spine: Path) -> list[str]:
    """The names of the columns in which two results differ; empty where they agree."""
    names = [f"{scorer}_{column}" for scorer in SCORERS for column in ("value", "metadata")]
    left, right = (
        pl.read_parquet(f"{folder}/**/*.parquet", columns=["id", *names]).sort("id") for folder in (floor, spine)
    )
    return [name for name in ["id", *names] if not _equal(left[name], right[name])]


def peer_values_that_differ(peer: Path, result: Path) -> list[str]:
    """The names of a peer's columns (`exact`, `levenshtein`; any rows, by `id`) that differ from those of a result."""
    theirs = pl.read_parquet(peer).sort("id")
    names = [name for name in theirs.columns if name != "id"]
    scan = pl.scan_parquet(f"{result}/**/*.parquet").select("id", *(f"{name}_value" for name in names))
    ours = scan.filter(pl.col("id").is_in(theirs["id"].implode())).collect().sort("id")
    differ = [name for name in names if not _equal(theirs[name], ours[f"{name}_value"])]
    return differ if _equal(theirs["id"], ours["id"]) else ["id", *differ]


def _equal(left: pl.Series, right: pl.Series) -> bool:
    if len(left) != len(right):
        return False
    if left.dtype.is_float():
        return bool(((left - right).abs() <= TOLERANCE).fill_null(left.is_null() & right.is_null()).all())
    return left.eq_missing(right.cast(left.dtype)).all()
