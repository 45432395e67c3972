"""An event → its line in a log, exactly as other programs of this format write it."""

from __future__ import annotations

import json

import orjson

from pipeline.formats.whole_text import with_whole_text
from pipeline.records.audit_event import AuditEvent


def event_line(event: AuditEvent) -> bytes:
    """The line of an event, without a line feed: minified, members in order, its id as it is.

    Text that is no Unicode (half a surrogate pair, as it comes of bytes that are no UTF-8) has U+FFFD in its place.

    Raises:
        TypeError, ValueError: a value that JSON does not have, NaN and infinities included.
    """
    envelope = event.envelope()
    try:
        # The quick writer makes null of NaN, and knows no whole numbers beyond 64 bits.
        line = orjson.dumps(envelope)
        if b"null" not in line:
            return line
    except TypeError:
        pass
    text = json.dumps(with_whole_text(envelope), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()
