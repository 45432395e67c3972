"""Datasets: a reference to a revision, and what a revision is made of."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from pipeline.records.base import Document, Record
from pipeline.records.digest import Sha256, digest_json


@dataclass(frozen=True)
class DatasetRevisionRef:
    """A revision by its two ids, or the newest revision of a name.

    Raises:
        ValueError: neither form is complete, or the two are mixed.
    """

    dataset_id: str | None = None
    revision_id: str | None = None
    dataset_name: str | None = None

    def __post_init__(self) -> None:
        if self.dataset_name is not None:
            if self.dataset_id is not None or self.revision_id is not None:
                raise ValueError("pass either dataset_name, or dataset_id together with revision_id, not both")
            self._keep("dataset_name", self.dataset_name)
            return
        self._keep("dataset_id", self.dataset_id)
        self._keep("revision_id", self.revision_id)

    def _keep(self, field: str, value: str | None) -> None:
        stripped = (value or "").strip()
        if not stripped:
            raise ValueError(f"{field} is required and must not be blank")
        object.__setattr__(self, field, stripped)


class PartFile(Record):
    """One Parquet file of a revision."""

    path: str
    """Key below the store's root, or an absolute URL where the file is pinned in place."""
    rows: int
    bytes: int
    sha256: Sha256


class Revision(Document):
    """One immutable state of a dataset: its schema and its files in order."""

    schema_name: ClassVar[str] = "assay.revision"

    dataset: str
    arrow_schema: str
    """The Arrow schema in IPC form, base64."""
    parts: tuple[PartFile, ...]
    source: dict[str, str] = Field(default_factory=dict)
    """Where the rows came from, for people: `kind` and `from`. Not part of the id."""

    @property
    def rows(self) -> int:
        """Rows in all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def id(self) -> str:
        """SHA-256 over the schema and the ordered part digests: the same data twice is one revision."""
        return digest_json({"arrow_schema": self.arrow_schema, "parts": [part.sha256 for part in self.parts]})

    def to_arrow_schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.arrow_schema)))


def encode_schema(schema: pa.Schema) -> str:
    """An Arrow schema as base64 of its IPC form, without its metadata (a pandas index and the like is not data)."""
    return base64.b64encode(schema.remove_metadata().serialize().to_pybytes()).decode()
