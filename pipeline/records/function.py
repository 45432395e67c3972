"""The record of one function version."""

from __future__ import annotations

from typing import Any, ClassVar

from pipeline.records.base import Document, Record
from pipeline.records.digest import Sha256


class Parameter(Record):
    """One parameter of a function."""

    name: str
    type: str
    """The annotation as text."""
    kind: str
    """The kind of column that fits: `str`, `int`, `list`, …; `any`; `table` where it takes every column."""
    has_default: bool
    default: Any = None
    """Only where JSON can carry it; the payload has it in any case."""
    nullable: bool


class FunctionRecord(Document):
    """One immutable version of a function. The payload lies beside it as `<version>.pkl`."""

    schema_name: ClassVar[str] = "assay.function"

    name: str
    version_id: Sha256
    parameters: tuple[Parameter, ...]
    returns: str
    """The return annotation as text."""
    output_schema: str | None
    """The Arrow type of the output as base64 of a one-field IPC schema; None where scorers' results are returned."""
    is_async: bool
    options: dict[str, Any]
    """The options that are not at their default, as JSON."""
    source: str
    doc: str | None
    payload_sha256: Sha256
    python: str
    """Python's minor version that pickled it, such as `3.11`."""
    cloudpickle: str
