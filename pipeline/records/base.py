"""The base of all records: frozen, closed, and written as canonical JSON plus one line feed."""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from pipeline.errors import CorruptError
from pipeline.formats.canonical_json import MAX_EXACT_INTEGER, canonical_json
from pipeline.records.digest import digest_bytes

_DIGITS_OF_2_53 = 17  # with a sign


class Record(BaseModel):
    """A frozen value that is written down. Unknown members are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Document(Record):
    """A record that is an object of its own on a store: it carries `schema` and `version`, unbound also `sha256`."""

    schema_name: ClassVar[str]
    schema_version: ClassVar[int] = 1
    is_bound: ClassVar[bool] = False
    """Whether another object names its digest or holds it. One that is not bound carries its own `sha256`."""

    def to_bytes(self) -> bytes:
        """Canonical JSON plus one line feed."""
        members = self._members()
        if not self.is_bound:
            members["sha256"] = canonical_json(digest_bytes(_joined(members)))
        return _joined(members) + b"\n"

    def content_sha256(self) -> str:
        """Digest of the canonical JSON without `sha256`: what that member holds."""
        return digest_bytes(_joined(self._members()))

    def _members(self) -> dict[str, bytes]:
        body = {"schema": self.schema_name, "version": self.schema_version, **self.model_dump(mode="json")}
        return {name: canonical_json(value) for name, value in body.items()}

    @classmethod
    def from_bytes(cls, data: bytes, where: str = "") -> Self:
        """Read what `to_bytes` wrote; `where` names the object in errors.

        Raises:
            CorruptError: no JSON, another schema, a version or a member that is not known, other bytes than written.
        """
        try:
            body: Any = json.loads(data, parse_int=_whole_number)
        except ValueError as error:
            raise CorruptError(f"{where}: not JSON ({error})", key=where) from None
        except RecursionError:
            raise CorruptError(f"{where}: is nested too deep for anything that assay writes", key=where) from None
        found = (body.pop("schema", None), body.pop("version", None)) if isinstance(body, dict) else (None, None)
        if found != (cls.schema_name, cls.schema_version):
            raise CorruptError(
                f"{where}: is {found[0]} version {found[1]}, expected {cls.schema_name} version {cls.schema_version}; "
                "it may come from a newer assay",
                key=where,
            )
        if not cls.is_bound and not _is_as_written(data, body.pop("sha256", None)):
            raise CorruptError(f"{where}: was changed after it was written; restore it", key=where)
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise CorruptError(f"{where}: field {field}: {first['msg']}", key=where) from None


def _whole_number(text: str) -> int | float:
    """Canonical JSON has integers beyond 2^53 as text: what is larger was a float, and is one again."""
    number = float(text) if len(text) > _DIGITS_OF_2_53 else int(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return float(number) if abs(number) >= MAX_EXACT_INTEGER else number


def _joined(members: dict[str, bytes]) -> bytes:
    """The canonical object of these members, whose names are ASCII."""
    return b"{" + b",".join(b'"%b":%b' % (name.encode(), members[name]) for name in sorted(members)) + b"}"


def _is_as_written(data: bytes, digest: Any) -> bool:
    """Whether the bytes, without the member `sha256` and what is blank at the end, have that digest.

    The bytes themselves are cut: parsed and written again, a float such as 1e20 would come back as an integer.
    """
    # A comma always follows: `version` comes after `sha256`.
    before, member, after = data.partition(b'"sha256":"%b",' % str(digest).encode(errors="replace"))
    return bool(member) and digest_bytes((before + after).rstrip()) == digest
