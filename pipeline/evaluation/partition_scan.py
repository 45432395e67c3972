"""A look at the partition columns of a dataset before anything is paid for: too many folders are refused at once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pipeline.errors import DatasetError, StoreError
from pipeline.evaluation.partitions import check_partition_count, folders_of
from pipeline.records.dataset import Revision
from pipeline.store import RevisionReader, Store

SCAN_ROWS = 5_000_000  # about a second for a column of numbers; parts are checked again as they come
_ROWS_AT_ONCE = 16_384


def refuse_too_many_partitions(
    store: Store, revision: Revision, partition_by: Sequence[str], limit: int | None = None
) -> None:
    """Raise InputError where the first rows make more partitions than allowed, or a value that names no folder.

    Files elsewhere than on this machine are not looked at: a range of theirs has no checksum, so they would be fetched
    whole. Files that cannot be read are left to the run, which checks and names them.
    """
    if not partition_by or not all(_is_local(store, part.path) for part in revision.parts):
        return
    rows = min(SCAN_ROWS, revision.rows, revision.rows if limit is None else limit)
    found: set[str] = set()
    with suppress(StoreError, DatasetError), RevisionReader(store, revision, partition_by, verify=False) as reader:
        for first in range(0, rows, _ROWS_AT_ONCE):
            seen = min(first + _ROWS_AT_ONCE, rows)
            found |= folders_of(reader.read(first, seen - first), partition_by)
            check_partition_count(len(found), partition_by, seen)


def _is_local(store: Store, path: str) -> bool:
    return "://" not in path and (path.startswith("/") or store.local_path(path) is not None)
