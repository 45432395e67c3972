"""How much a worker holds: a part is worked on in steps of bounded bytes, and a limit decides how large they are."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.records.evaluation import EvaluationRecord

MIB = 1 << 20
STEP_BYTES = 32 * MIB  # of rows in memory at most: larger steps are no faster
LEAST_STEP_BYTES = MIB  # smaller ones take no less: what a worker holds beside its rows is then all that counts
BYTES_PER_STEP_BYTE = 6  # measured: 3.4 to 5 bytes of peak memory a byte of a step, with four scorers, SQL and Python
WORKER_BYTES = 300 * MIB  # measured: 180 to 220 MiB without rows, 60 more for the row group that is written
SQL_BYTES = 160 * MIB  # the process in which SQL expressions are evaluated, without rows


class WorkerNeed(NamedTuple):
    """What one worker takes, user functions' own memory not counted: of that nobody knows beforehand."""

    fixed: int
    """Bytes, however small its steps are."""
    steps: int
    """Steps that it has in work at once."""

    @property
    def least(self) -> int:
        """Bytes below which it cannot work."""
        return self.fixed + self.steps * BYTES_PER_STEP_BYTE * LEAST_STEP_BYTES


def worker_need(record: EvaluationRecord, parts_at_once: int) -> WorkerNeed:
    """What a worker of a definition takes."""
    has_sql = any(scorer.sql_expression is not None for scorer in record.scorers)
    return WorkerNeed(WORKER_BYTES + SQL_BYTES * has_sql, parts_at_once)


def most_workers(limit: int | None, need: WorkerNeed, asked: int | None) -> int | None:
    """How many workers may share a limit; None: no limit.

    Args:
        limit: bytes of all workers together.
        asked: how many the user wants; None: does not say.

    Raises:
        InputError: too little for one worker, or for as many as were asked for; names the least.
    """
    if limit is None:
        return None
    least = (asked or 1) * need.least
    if limit < least:
        whom = f"{asked} workers of this evaluation need" if (asked or 1) > 1 else "one worker of this evaluation needs"
        fewer = f", or ask for at most {limit // need.least} workers" if limit >= need.least else ""
        raise InputError(
            f"memory_limit is {_in_mib(limit)}, and {whom} at least {_in_mib(least)}: give that much{fewer}"
        )
    return limit // need.least


def step_bytes(limit: int | None, workers: int, need: WorkerNeed) -> int:
    """Bytes of rows that a worker takes at once, where `workers` of them share `limit` bytes."""
    if limit is None:
        return STEP_BYTES
    left = limit // workers - need.fixed
    return max(LEAST_STEP_BYTES, min(STEP_BYTES, left // (BYTES_PER_STEP_BYTE * need.steps)))


def _in_mib(n_bytes: int) -> str:
    return f"{-(-n_bytes // MIB)}Mi" if n_bytes >= MIB else f"{n_bytes} bytes"
