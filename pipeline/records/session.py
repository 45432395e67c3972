"""A session as a store keeps it (`assay.session` version 1): written when it begins, and never again."""

from __future__ import annotations

from typing import ClassVar

from pydantic import AwareDatetime

from pipeline.records.base import Document
from pipeline.records.digest import Sha256
from pipeline.records.report import Producer


class SessionRecord(Document):
    """That a session began. What became of it is in its log; one that was cut off has no `end.patch` beside it."""

    schema_name: ClassVar[str] = "assay.session"

    session: str
    parent_session: str | None
    """null: the root."""
    agent_kind: str
    model: str
    base_commit: str | None
    """null: a fixture without git."""
    spec_sha256: Sha256 | None
    """null: a session without a spec."""
    started: AwareDatetime
    producer: Producer
