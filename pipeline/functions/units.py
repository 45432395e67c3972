"""What one call took of the units that its rate limit counts: an estimate, until the function says it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class UnitReport:
    """Of one call."""

    def __init__(self, estimate: float) -> None:
        self._estimate = estimate
        self._reported: float | None = None

    @property
    def owed(self) -> float:
        """Units beyond the estimate; below 0: fewer; 0: nothing was said."""
        return 0.0 if self._reported is None else self._reported - self._estimate

    def set(self, units: float) -> None:
        """The last word counts."""
        self._reported = units

    @contextmanager
    def open(self) -> Iterator[None]:
        """`report_units` below this block, in this thread or task, is about this call."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[UnitReport | None] = ContextVar("assay_units", default=None)


def report_units(units: float) -> None:
    """Say what the running call took, in the units of its rate limit, such as the tokens that the answer names.

    Call it in a `@pipeline.function` that has `rate_limit=RateLimitPolicy(units=…)`; what is said last counts, for the
    whole call. Elsewhere it does nothing, and so too in a thread that the function started without its context.

    Args:
        units: in all, not beyond the estimate.

    Raises:
        TypeError, ValueError: not a number of 0 or more.
    """
    if isinstance(units, bool) or not isinstance(units, int | float):
        raise TypeError(f"units must be a number, found {units!r}")
    if not math.isfinite(units) or units < 0:
        raise ValueError(f"units must be finite and at least 0, found {units}")
    report = _current.get()
    if report is not None:
        report.set(units)
