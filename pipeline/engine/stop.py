"""How a run is told to stop, from any thread or signal handler."""

from __future__ import annotations

import time
from collections.abc import Callable

DEFAULT_GRACE_S = 10.0  # long enough for a part of deterministic scorers, short enough for somebody who waits


class StopSignal:
    """First `stop`: no new parts, those in work have `grace_s` seconds. Then `kill`: at once. What is done is kept.

    Both only set attributes, so that a signal handler may call them.
    """

    def __init__(self, *, grace_s: float = DEFAULT_GRACE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self.grace_s = grace_s
        self._clock = clock
        self._stopped_at: float | None = None
        self._is_killed = False

    def stop(self) -> None:
        """Hand out no new part. A second call changes nothing."""
        if self._stopped_at is None:
            self._stopped_at = self._clock()

    def kill(self) -> None:
        """Wait for nothing."""
        self.stop()
        self._is_killed = True

    @property
    def is_stopped(self) -> bool:
        """Somebody wants the run to end."""
        return self._stopped_at is not None

    @property
    def is_over(self) -> bool:
        """Nothing is waited for any more: killed, or the grace period has passed."""
        stopped_at = self._stopped_at
        return self._is_killed or (stopped_at is not None and self._clock() - stopped_at >= self.grace_s)
