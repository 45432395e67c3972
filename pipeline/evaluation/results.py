"""Results of a finished run: only files in the manifest, rows in the order of the dataset."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from pipeline.errors import DatasetError, InputError, MissingError
from pipeline.evaluation.result_read import ResultRead
from pipeline.evaluation.where import Where
from pipeline.records.dataset import PartFile, Revision
from pipeline.records.evaluation import Outcome
from pipeline.records.names import nearest
from pipeline.records.plan import Manifest, Plan
from pipeline.store import Store, read_manifest


class StandingParts(NamedTuple):
    """How much of a plan is done."""

    parts: int
    parts_done: int
    rows: int
    rows_done: int


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

    def standing_parts(self) -> StandingParts | None:
        """What is done of the plan, told from the names of the receipts; None where there is no plan."""
        try:
            plan = self.plan()
        except DatasetError:
            return None
        names = {key.rpartition("/")[2] for key in self.store.list(f"{self.key('receipt')}/")}
        done = [part.rows for part in plan.parts if f"{part.index}.json" in names]
        return StandingParts(len(plan.parts), len(done), plan.rows, sum(done))

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

    def schema(self) -> pa.Schema:
        """The columns of the result's files. Raises DatasetError as `plan`."""
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.plan().pins["written_schema"])))

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

    def read(self, wanted: Sequence[str] | None = None, where: str | None = None) -> ResultRead:
        """Rows to read: nothing is read yet but the index and the plan.

        Args:
            wanted: only these columns, in this order; None: all.
            where: only rows on which this SQL expression is true; see `Where.checked`.

        Raises:
            DatasetError: no result yet.
            InputError: no such column, or a condition that is not allowed.
        """
        manifest, plan = self.manifest(), self.plan()
        revision = self.revision(manifest, "result")
        schema = revision.to_arrow_schema()
        for name in wanted or ():
            if name not in schema.names:
                raise InputError(f"the result has no column {name!r}{nearest(name, schema.names)}")
        return ResultRead(
            self.store,
            revision,
            tuple(len(receipt.files) for receipt in manifest.receipts),
            tuple(plan.pins.get("partition_by") or ()),
            None if wanted is None else tuple(wanted),
            None if where is None else Where.checked(where, schema),
        )

    def tables(self, wanted: Sequence[str] | None = None, where: str | None = None) -> Iterator[pa.Table]:
        """The rows of one part after the other, in the order of the dataset. Arguments as `read`.

        Every file that is read is checked against its digest. One whose folder says that the condition is true on none
        of its rows is not read.
        """
        return self.read(wanted, where).tables()
