"""Cuts a stream of tables into parts. Where it cuts depends on the rows alone, not on how they arrived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from pipeline.store.row_bytes import RowCutter

ROWS_PER_PART = 65_536
BYTES_PER_PART = 256 << 20  # of values: what one part may need in memory, however large its cells are


def cut_parts(
    tables: Iterable[pa.Table], *, rows: int = ROWS_PER_PART, n_bytes: int = BYTES_PER_PART
) -> Iterator[pa.Table]:
    """Tables of exactly `rows` rows, or of fewer where their values would exceed `n_bytes`; the last holds the rest."""
    cutter = RowCutter(rows, n_bytes)
    for table in tables:
        yield from cutter.add(table)
    yield from cutter.rest()
