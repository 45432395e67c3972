"""What the check of a log's hash chain found."""

from __future__ import annotations

from pipeline.records.audit_names import Verdict
from pipeline.records.base import Record
from pipeline.records.digest import Sha256


class ChainVerdict(Record):
    """The verdict on a log, and where it was found."""

    verdict: Verdict
    at: int | None
    """Id of the event (offset of the line) that is broken, torn or undecodable; 0: none; null: no event was reached."""
    after: int | None
    """Id of the event before a break; 0: the header, or there is no break."""
    events: int | None
    """Whole lines that decode, up to where reading stopped."""
    chained: int | None
    """Those of them that carry a digest of the line before."""
    sha256: Sha256 | None
    """Of all bytes of the file; null where it could not be read."""
    bytes: int | None
    """Size of the file; null where it could not be read."""
    reason: str = ""
    """What was found, for a person; empty where there is nothing to say."""

    @property
    def is_evidence(self) -> bool:
        """Whether the log may be believed: intact, and it says something."""
        return self.verdict is Verdict.INTACT and bool(self.events)
