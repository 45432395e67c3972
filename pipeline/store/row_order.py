"""Results in the order of the dataset that they score: partitioned files hold rows apart."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.records.columns import ROW_ID


def in_row_order(rows: pa.Table) -> pa.Table:
    """The rows sorted by their row id; as they are where they are sorted already, or have none."""
    if ROW_ID not in rows.column_names:
        return rows
    ids = rows[ROW_ID].combine_chunks()
    if len(ids) < 2 or not pc.any(pc.less(ids.slice(1), ids.slice(0, len(ids) - 1))).as_py():
        return rows
    return rows.take(pc.sort_indices(ids))
