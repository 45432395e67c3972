"""What a scorer is: a table in, columns out. Knows nothing of runs, stores or Ray."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

VALUE_TYPE = pa.float64()
TEXT_TYPE = pa.large_string()  # 64-bit offsets: the metadata of a part may exceed 2 GiB
VALUES_TYPE = pa.list_(pa.struct([pa.field("score", pa.float64(), nullable=False), pa.field("metadata", TEXT_TYPE)]))


@dataclass(frozen=True)
class ScoreColumns:
    """The outcome of scoring a table: one entry a row in each column."""

    value: pa.Array
    """float64; null where the row has no score."""
    error: pa.Array
    """Text; null where scoring did not fail. A null value with a null error is an abstention."""
    metadata: pa.Array
    """JSON text; null where the scorer recorded nothing."""
    values: pa.Array | None = None
    """list<struct<score, metadata>> of scorers that return lists, else None."""


@runtime_checkable
class Scorer(Protocol):
    """Scores the rows of a table. Cutting the table into batches never changes a result."""

    @property
    def name(self) -> str:
        """Labels the result columns."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that are read, in order."""

    @property
    def version(self) -> str:
        """Digest of what decides the result."""

    def score(self, rows: pa.Table) -> ScoreColumns:
        """Score each row.

        Args:
            rows: at least the columns of `inputs`; others are not looked at.

        Raises:
            TypeError: a column of `inputs` is missing. A row that cannot be scored never raises: it gets an error.
        """
