"""The base of all records: frozen, closed, and written as canonical JSON plus one line feed."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.errors import CorruptError
from pipeline.formats.canonical_json import canonical_json


class Record(BaseModel):
    """A frozen value that is written down. Unknown members are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Document(Record):
    """A record that is an object of its own on a store: it carries `schema` and `version`."""

    schema_name: ClassVar[str]
    schema_version: ClassVar[int] = 1

    def to_bytes(self) -> bytes:
        """Canonical JSON plus one line feed."""
        body = {"schema": self.schema_name, "version": self.schema_version, **self.model_dump(mode="json")}
        return canonical_json(body) + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes, where: str = "") -> Self:
        """Read what `to_bytes` wrote; `where` names the object in errors.

        Raises:
            CorruptError: no JSON, another schema, a version or a member that is not known.
        """
        try:
            body: Any = json.loads(data)
        except ValueError as error:
            raise CorruptError(f"{where}: not JSON ({error})", key=where) from None
        found = (body.pop("schema", None), body.pop("version", None)) if isinstance(body, dict) else (None, None)
        if found != (cls.schema_name, cls.schema_version):
            raise CorruptError(
                f"{where}: is {found[0]} version {found[1]}, expected {cls.schema_name} version {cls.schema_version}; "
                "it may come from a newer assay",
                key=where,
            )
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise CorruptError(f"{where}: field {field}: {first['msg']}", key=where) from None
