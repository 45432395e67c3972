"""Digests: the lower-case hex SHA-256 of the bytes named."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any

from pydantic import StringConstraints

from pipeline.formats.canonical_json import canonical_json

Sha256 = Annotated[str, StringConstraints(pattern=re.compile(r"^[0-9a-f]{64}\Z"))]


def digest_bytes(data: bytes) -> str:
    """SHA-256 of the bytes, in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def digest_json(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value."""
    return digest_bytes(canonical_json(value))
