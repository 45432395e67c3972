"""Results of a finished run: only files in the manifest, rows in the order of the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.errors import DatasetError, MissingError
from pipeline.records import columns
from pipeline.records.dataset import PartFile, Revision
from pipeline.records.evaluation import Outcome
from pipeline.records.plan import Manifest, Plan
from pipeline.store import RevisionReader, Store, in_row_order, read_manifest


@dataclass(frozen=True)
class ResultFolder:
    """A folder with a plan in it: of a run on a store, or a plain one."""

    store: Store
    prefix: str
    """Below the store's root; nothing for a plain folder."""

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

    def plan(self) -> Plan:
        """The plan. Raises DatasetError where there is none."""
        key = self.key("plan.json")
        try:
            return Plan.from_bytes(self.store.read(key), where=f"{self.store.display}/{key}")
        except MissingError:
            raise DatasetError(f"{self.where} holds no result: there is no plan.json in it", 404) from None

    def planned_rows(self) -> tuple[int | None, int | None]:
        """Rows of the plan, and rows of its first part; None where it was not written."""
        if not self.store.exists(self.key("plan.json")):
            return None, None
        plan = self.plan()
        return plan.rows, plan.parts[0].rows

    def outcome(self) -> Outcome | None:
        """What the run amounts to; None where it has not succeeded."""
        key = self.key("outcome.json")
        try:
            return Outcome.from_bytes(self.store.read(key), where=f"{self.store.display}/{key}")
        except MissingError:
            return None

    def files(self) -> list[str]:
        """The files of the result, in part order: paths where the store is local, else URLs."""
        return [f"{self.where}/{file.path}" for receipt in self.manifest().receipts for file in receipt.files]

    def revision(self, manifest: Manifest, dataset: str) -> Revision:
        """The result as a revision of a dataset."""
        files = [file for receipt in manifest.receipts for file in receipt.files]
        return Revision(
            dataset=dataset,
            arrow_schema=self.plan().pins["written_schema"],
            parts=tuple(
                PartFile(path=self.key(file.path), rows=file.rows, bytes=file.bytes, sha256=file.sha256)
                for file in files
            ),
            source={"kind": "run", "from": self.prefix or self.where},
        )

    def tables(self, wanted: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows of one part after the other, in the order of the dataset; every file is checked against its digest.

        Args:
            wanted: only these columns; None: all.
        """
        manifest = self.manifest()
        read = None if wanted is None else list(dict.fromkeys([*wanted, columns.ROW_ID]))
        reader = RevisionReader(self.store, self.revision(manifest, "result"), read)
        for receipt in manifest.receipts:
            rows = in_row_order(reader.read(receipt.first_row, receipt.rows))
            yield rows if wanted is None else rows.select(list(wanted))
