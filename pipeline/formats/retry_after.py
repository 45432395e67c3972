"""How long an endpoint asks to wait: the value of `Retry-After`, in either of its forms."""

from __future__ import annotations

import math
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any


def retry_after_seconds(found: Any, now: float) -> float | None:
    """Seconds from now, at least 0; None: not finite.

    Args:
        found: a number of seconds, or a date as HTTP writes it; also a timedelta, or bytes.
        now: seconds since 1970, which a date is counted from.

    Raises:
        Exception: it is neither.
    """
    if isinstance(found, timedelta):
        return max(0.0, found.total_seconds())
    text = found.decode() if isinstance(found, bytes) else str(found)
    try:
        seconds = float(text)
    except ValueError:
        seconds = parsedate_to_datetime(text).timestamp() - now
    return max(0.0, seconds) if math.isfinite(seconds) else None
