"""Time and chance, as they are given to whoever waits."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple


class Timing(NamedTuple):
    """Clocks, a way to wait, and a die."""

    clock: Callable[[], float] = time.monotonic
    """Seconds, from anywhere."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    """From 0 to 1."""
