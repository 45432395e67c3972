"""One session as a trainer reads it (`chock.rl-trajectory` version 1): log, capture, report, and its tokens."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from pipeline.records.base import Document, Record
from pipeline.records.capture import Capture
from pipeline.records.digest import Sha256
from pipeline.records.embedded import Embedded
from pipeline.records.exchange import Count, WeightSpan
from pipeline.records.provenance import Provenance
from pipeline.records.report import Producer, Report


def _is_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"is no base64: {error}") from None
    return text


class AuditEvidence(Record):
    """The audit log, byte for byte."""

    sha256: Sha256
    """Of the log's bytes."""
    jsonl_base64: Annotated[str, AfterValidator(_is_base64)]
    """The log's bytes in base64 (RFC 4648, section 4), without line breaks."""

    @classmethod
    def of(cls, log: bytes, sha256: str) -> AuditEvidence:
        """From the log's bytes and their digest."""
        return cls(sha256=sha256, jsonl_base64=base64.b64encode(log).decode())

    def log(self) -> bytes:
        """The log's bytes."""
        return base64.b64decode(self.jsonl_base64)


class CaptureEvidence(Record):
    """What was exchanged with the model and the tools."""

    sha256: Sha256
    """Of the canonical JSON of `payload`; the `sha256` that the capture has in a file of its own."""
    payload: Annotated[Capture, Embedded(Capture)]


class Fork(Record):
    """Where a prompt is not what was there before, and what came to it: there a new branch begins."""

    turn: Count
    """The earlier turn whose prompt and response have the longest beginning in common with this prompt."""
    position: Count
    """The first position, in the ids of this turn's prompt, at which the two differ or this prompt ends."""
    n_left_out: Count
    """Tokens of the earlier turn's prompt and response from that position on."""


class Turn(Record):
    """One exchange with the model, and what is computed of it."""

    exchange: Count
    """Its `sequence` in the capture."""
    branch: Count | None
    """Turns of one branch extend each other; null: without token ids that can be used."""
    fork: Fork | None
    """null: this turn begins the first branch, or extends the turn before it in its branch."""
    response_mask: tuple[Literal[0, 1], ...] | None
    """1: this token is trained here. The engine's mask without tokens that stand in an earlier turn already.

    null: without token arrays that can be used.
    """
    weight_versions: tuple[WeightSpan, ...]
    """The versions of the weights that sampled the response, spans of one version joined; empty: not known."""
    is_truncated: bool
    """Whether the model was stopped by the limit of its length."""
    remarks: tuple[str, ...]
    """What a trainer should know and what does not rule the turn out."""


class Trajectory(Document):
    """What a session was asked, did and showed; for training where `trainable` says so, else as evidence."""

    schema_name: ClassVar[str] = "chock.rl-trajectory"
    is_bound: ClassVar[bool] = True  # the format has no member for it; a rollout set names the digest of the file

    producer: Producer
    provenance: Provenance | None
    """The report's."""
    audit: AuditEvidence
    capture: CaptureEvidence | None
    """null: what was exchanged was not kept."""
    report: Annotated[Report, Embedded(Report)]
    turns: tuple[Turn, ...]
    """One for each exchange with the model, in order."""
    trainable: bool
    """Computed: whether `not_trainable_because` is empty. A reader computes it again."""
    not_trainable_because: tuple[str, ...]
    """Each names the turn, its exchange, and the position, from 0."""
