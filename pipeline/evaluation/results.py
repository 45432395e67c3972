"""Results of a finished run: only files in the manifest, rows in the order of the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import DatasetError
from pipeline.records import columns
from pipeline.records.plan import Manifest, Receipt
from pipeline.store import Store, read_manifest, read_table


@dataclass(frozen=True)
class ResultFolder:
    """A folder with a plan in it: of a run on a store, or a plain one."""

    store: Store
    prefix: str

    @property
    def where(self) -> str:
        """For messages and for tools: a path or a URL."""
        return f"{self.store.display}/{self.prefix}".rstrip("/")

    def key(self, path: str) -> str:
        """The key of a path in the folder."""
        return f"{self.prefix}/{path}" if self.prefix else path

    def manifest(self) -> Manifest:
        """The index. Raises DatasetError where there is none yet."""
        found = read_manifest(self.store, self.prefix)
        if found is None:
            raise DatasetError(f"{self.where} has no result yet: its run goes on, failed, or was interrupted", 404)
        return found

    def files(self) -> list[str]:
        """The files of the result, in part order: paths where the store is local, else URLs."""
        return [
            f"{self.where}/{file.path}" for receipt in self.manifest().receipts for file in receipt.files
        ]

    def tables(self, wanted: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows of one part after the other, in row order; every file is checked against its digest.

        Args:
            wanted: only these columns; None: all.
        """
        for receipt in self.manifest().receipts:
            yield self._part(receipt, wanted)

    def _part(self, receipt: Receipt, wanted: Sequence[str] | None) -> pa.Table:
        read = None if wanted is None else [*wanted, *({columns.ROW_ID} - set(wanted))]
        tables = [
            read_table(self.store, self.key(file.path), sha256=file.sha256, columns=read) for file in receipt.files
        ]
        rows = in_row_order(pa.concat_tables(tables))
        return rows if wanted is None else rows.select(list(wanted))


def in_row_order(rows: pa.Table) -> pa.Table:
    """The rows sorted by their row id; as they are where they are sorted already."""
    ids = rows[columns.ROW_ID].combine_chunks()
    if len(ids) < 2 or not pc.any(pc.less(ids.slice(1), ids.slice(0, len(ids) - 1))).as_py():
        return rows
    return rows.take(pc.sort_indices(ids))
