"""Scores in hand: the table of a result with its summary, in the form that the caller works with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.records.summary import ScorerSummary, Summary

if TYPE_CHECKING:
    import polars as pl

    from pipeline.evaluation.result_read import ResultRead

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Scores:
    """The rows of a result, in the order of the dataset, and what they amount to.

    Rows of a run or a folder are read, and checked against their digests, when they are first asked for, once.
    """

    summary: Summary
    """Of all rows of the result, whatever was selected of them."""

    def __init__(self, rows: pa.Table | ResultRead, summary: Summary) -> None:
        """Take rows in hand, or such that are still to be read."""
        self._rows = rows
        self.summary = summary

    @cached_property
    def table(self) -> pa.Table:
        """The rows."""
        return self._rows if isinstance(self._rows, pa.Table) else pa.concat_tables(self._rows.tables())

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

    def to_ray_dataset(self, *, ray_address: str | None = None) -> Any:
        """As a `ray.data.Dataset`.

        Of a run or folder, nothing is read here: each part is a read task, which checks the digests of its files and
        selects its rows where it runs. Rows of a part are in the order of the dataset, parts come as they get ready;
        for one order over all, set `dataset.context.execution_options.preserve_order`, or sort by `__assay_row_id`.

        Args:
            ray_address: of a cluster; None: the Ray that this process uses, else RAY_ADDRESS, else a local one.

        Raises:
            EngineError: no cluster, or its nodes cannot see the store.
        """
        from pipeline.engine.ray_data import table_to_ray_dataset, tasks_to_ray_dataset

        rows = self._rows
        if isinstance(rows, pa.Table):
            return table_to_ray_dataset(rows, ray_address=ray_address)
        return tasks_to_ray_dataset(rows.tasks(), rows.schema, store=rows.store, ray_address=ray_address)


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
