"""One event of an audit log: its envelope, and which payload belongs to which name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pipeline.records import audit_session, audit_turn
from pipeline.records.audit_wire import Payload

HEADER = b'{"chock_log":1}\n'
MAX_HEADER_BYTES = 64  # with its line feed; a longer first line is no header
MAX_ID, MAX_VERSION = 2**64 - 1, 2**32 - 1
MIN_TIME_MS, MAX_TIME_MS = -(2**63), 2**63 - 1

PAYLOADS: Mapping[str, type[Payload]] = MappingProxyType(
    {
        kind.wire_name: kind
        for module in (audit_session, audit_turn)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Payload) and kind is not Payload
    }
)
"""The events that are known, by their names in the log."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


class AuditEvent(NamedTuple):
    """One line of a log. A tuple and not a model: a log of gigabytes has millions, and most are only counted."""

    id: int
    """Offset of the line's first byte in the file; on disk it is always 0."""
    session: str
    time_ms: int
    """Unix milliseconds."""
    name: str
    """As it is written, known or not."""
    raw: Any
    """The payload as parsed JSON."""
    version: int = 1
    prev: str = ""
    """Digest of the line before, 64 hex characters; empty: not chained."""
    extra: Mapping[str, Any] = NOTHING
    """Members of the envelope that are not known."""

    @property
    def payload(self) -> Payload | Any:
        """The payload's model, made anew each time; of an unknown name the parsed JSON."""
        kind = PAYLOADS.get(self.name)
        return self.raw if kind is None else kind.from_wire(self.raw)

    def envelope(self) -> dict[str, Any]:
        """What is written, in order: id, session, time_ms, event, version, prev, then members that are not known.

        Known members of the payload come in the order of their declaration, whatever order they were read in.
        """
        payload = self.payload
        return {
            "id": self.id,
            "session": self.session,
            "time_ms": self.time_ms,
            "event": {self.name: payload.to_wire() if isinstance(payload, Payload) else payload},
            "version": self.version,
            "prev": self.prev,
            **self.extra,
        }


class UnknownPayload(NamedTuple):
    """An event of a name that is not known here, to be written as it is."""

    name: str
    value: Any
