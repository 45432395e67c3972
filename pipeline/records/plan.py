"""Plan, part, receipt, manifest: the objects of the commit protocol."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from pipeline.records.base import Document, Record
from pipeline.records.digest import Sha256, digest_bytes


class Part(Record):
    """One numbered unit of work: a slice of the input, by position."""

    index: int
    first_row: int
    rows: int


class Plan(Document):
    """What is to be done, by content. Says nothing of engine, actors, addresses or attempts."""

    schema_name: ClassVar[str] = "assay.plan"
    is_bound: ClassVar[bool] = True
    """By its receipts and the index, which name its digest."""

    kind: str
    """What the parts are: `evaluation`, and later others."""
    pins: dict[str, Any]
    """Digests and settings that decide the result: dataset, task, scorers, columns, seed, partition_by."""
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        """Rows in all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def sha256(self) -> str:
        """Of the plan's bytes: what receipts and the index are bound to."""
        return digest_bytes(self.to_bytes())


class DataFile(Record):
    """One file that a part left behind."""

    path: str
    """Relative to the plan's folder: `data/…/<digest>.parquet`."""
    sha256: Sha256
    bytes: int
    rows: int


class Receipt(Document):
    """What one part left behind. Nothing in it differs between attempts of deterministic work."""

    schema_name: ClassVar[str] = "assay.receipt"
    is_bound: ClassVar[bool] = True
    """By the index, which holds it."""

    plan_sha256: Sha256
    part: int
    rows: int
    first_row: int
    files: tuple[DataFile, ...]
    sums: dict[str, Any] = Field(default_factory=dict)
    """Counts and sums of the part, added up by whoever planned it; the protocol does not look inside."""


class Manifest(Document):
    """The index: written last, never changed. Only files named here are the result."""

    schema_name: ClassVar[str] = "assay.manifest"

    plan_sha256: Sha256
    rows: int
    bytes: int
    receipts: tuple[Receipt, ...]
    """In part order."""
