"""Scores in hand: the table of a result with its summary, in the form that the caller works with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.records.summary import ScorerSummary, Summary

if TYPE_CHECKING:
    import polars as pl

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Scores:
    """The rows of a result, in the order of the dataset, and what they amount to."""

    table: pa.Table
    summary: Summary

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, scorer: str) -> ScorerSummary:
        """The summary of one scorer, by its name."""
        for found in self.summary.scorers:
            if found.name == scorer:
                return found
        known = ", ".join(found.name for found in self.summary.scorers)
        raise KeyError(f"no scorer {scorer!r}; there are {known}")

    @cached_property
    def failed(self) -> pa.Table:
        """The rows on which the output or a scorer failed."""
        return self.table.filter(failed_rows(self.table))

    def to_polars(self) -> pl.DataFrame:
        """As a polars frame."""
        import polars as pl

        frame = pl.from_arrow(self.table)
        assert isinstance(frame, pl.DataFrame)  # a table never becomes a Series
        return frame

    def to_pandas(self) -> Any:
        """As a pandas frame. pandas is not installed with assay."""
        return self.table.to_pandas()

    def to_duckdb(self) -> Any:
        """As a DuckDB relation on a connection of its own."""
        import duckdb

        return duckdb.connect().from_arrow(self.table)


def failed_rows(table: pa.Table) -> pa.ChunkedArray:
    """bool, one entry a row: whether the output or a scorer failed on it."""
    from pipeline.records import columns

    return pc.or_(pc.is_valid(table[columns.OUTPUT_ERROR]), pc.is_valid(table[columns.SCORER_OWNER]))


def value_quantiles(tables: Iterator[pa.Table], names: Sequence[str]) -> dict[str, list[float] | None]:
    """The 5th, 25th, 50th, 75th and 95th percentile of each scorer's values, from a scan of the value columns.

    Args:
        tables: the `<scorer>_value` columns, a part at a time.
        names: the scorers.

    Returns:
        By scorer; None where it has no value. Eight bytes a row are held at most.
    """
    chunks: dict[str, list[pa.Array]] = {name: [] for name in names}
    for table in tables:
        for name in names:
            chunks[name] += pc.drop_null(table[f"{name}_value"]).chunks
    found: dict[str, list[float] | None] = {}
    for name, arrays in chunks.items():
        values = pa.chunked_array(arrays, pa.float64())
        found[name] = pc.quantile(values, q=list(QUANTILES)).to_pylist() if len(values) else None
    return found
