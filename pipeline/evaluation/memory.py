"""How much a worker holds: a part is worked on in steps of bounded bytes, and a limit decides how large they are."""

from __future__ import annotations

STEP_BYTES = 32 << 20  # of rows in memory, where no limit is given


def step_bytes(limit: int | None, workers: int) -> int:
    """Bytes of rows that a worker takes at once, where `workers` of them share `limit` bytes."""
    return STEP_BYTES
