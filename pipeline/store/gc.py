"""What may be removed from a store: objects that no manifest, receipt, revision or fresh heartbeat refers to.

Looks first and removes only where asked. Rows kept of unfinished parts go when their run has been dead for a day: it
then does those parts anew. Everything younger than a day stays: it may belong to work that goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import PurePosixPath
from typing import NamedTuple

from pipeline.errors import CorruptError
from pipeline.records.dataset import Revision
from pipeline.records.plan import Receipt
from pipeline.store.backend import ObjectInfo
from pipeline.store.commit import is_data_file, read_manifest
from pipeline.store.probe import PROBE_PREFIX
from pipeline.store.store import Store

MIN_AGE_S = 24 * 3600
JOURNAL = "journal"
"""Folder of a plan, for finished rows of unfinished parts: outside of the index, and of use to a resumed run alone."""
_OWN_TRACES = (PROBE_PREFIX, ".contract-")


class GarbageItem(NamedTuple):
    """One object that nothing refers to."""

    key: str
    bytes: int
    reason: str


def collect_garbage(store: Store, *, apply: bool, now: float, min_age_s: float = MIN_AGE_S) -> list[GarbageItem]:
    """Find what nothing refers to, and remove it where `apply` is set.

    Args:
        now: Unix seconds.
        min_age_s: younger objects stay; so does all of a run with a heartbeat that is younger.

    Returns:
        What was found, or with `apply` what was removed, sorted by key.

    Raises:
        CorruptError: a revision cannot be read, so that nobody knows what it refers to.
    """
    before = now - min_age_s
    found = sorted(set(_find(store, before)))
    return list(_remove(store, found, before)) if apply else found


def _find(store: Store, before: float) -> Iterator[GarbageItem]:
    for info in store.list_leftovers():
        if info.modified < before:
            yield GarbageItem(info.key, info.bytes, "temporary file of a writer that was killed")
    everything = store.list_infos()
    revisions = set(_revision_files(store, everything))
    by_run: dict[str, list[ObjectInfo]] = {}
    for info in everything:
        by_run.setdefault(_run_of(info.key), []).append(info)
    for prefix, infos in by_run.items():
        yield from _unnamed_results(store, prefix, infos, revisions, before)
    old = [info for info in everything if info.modified < before]
    yield from _unnamed_data(old, revisions)
    yield from _lone_payloads(old, {info.key for info in everything})
    for info in old:
        if info.key.startswith(_OWN_TRACES):
            yield GarbageItem(info.key, info.bytes, "left behind by a check of the store")


def _run_of(key: str) -> str:
    """The folder of the plan that an object may belong to; "" is the root, which a plain result folder is."""
    pieces = key.split("/")
    return f"runs/{pieces[1]}" if pieces[0] == "runs" and len(pieces) > 2 else ""


def _unnamed_results(
    store: Store, prefix: str, infos: list[ObjectInfo], revisions: set[str], before: float
) -> Iterator[GarbageItem]:
    if any(info.key.endswith("/heartbeat.json") and info.modified >= before for info in infos):
        return
    base = f"{prefix}/" if prefix else ""
    old = [info for info in infos if info.modified < before]
    unnamed = [info for info in old if info.key.startswith(f"{base}data/")]
    kept = [info for info in old if info.key.startswith(f"{base}{JOURNAL}/")]
    if not (unnamed or kept) or (not prefix and not store.exists("plan.json")):
        return
    for info in kept:
        yield GarbageItem(info.key, info.bytes, "rows kept of parts that nobody works on")
    named = _named_files(store, prefix, infos)
    if named is None:
        return
    for info in unnamed:
        if info.key not in named and info.key not in revisions and is_data_file(info.key):
            yield GarbageItem(info.key, info.bytes, "result file that no receipt names")


def _named_files(store: Store, prefix: str, infos: list[ObjectInfo]) -> set[str] | None:
    """Keys that the index names, or the receipts where there is none yet; None where they cannot be read."""
    base = f"{prefix}/" if prefix else ""
    try:
        manifest = read_manifest(store, prefix)
        if manifest is not None:
            receipts: Iterable[Receipt] = manifest.receipts
        else:
            keys = [info.key for info in infos if info.key.startswith(f"{base}receipt/")]
            found = zip(keys, store.read_each(keys), strict=True)
            receipts = [Receipt.from_bytes(data, key) for key, data in found if data is not None]
    except CorruptError:
        return None
    return {base + file.path for receipt in receipts for file in receipt.files}


def _unnamed_data(old: list[ObjectInfo], revisions: set[str]) -> Iterator[GarbageItem]:
    for info in old:
        pieces = info.key.split("/")
        if pieces[0] == "datasets" and "data" in pieces[2:3] and info.key not in revisions:
            yield GarbageItem(info.key, info.bytes, "data of no revision")


def _lone_payloads(old: list[ObjectInfo], keys: set[str]) -> Iterator[GarbageItem]:
    for info in old:
        path = PurePosixPath(info.key)
        if path.parts[0] == "functions" and path.suffix == ".pkl" and str(path.with_suffix(".json")) not in keys:
            yield GarbageItem(info.key, info.bytes, "payload of no function version")


def _revision_files(store: Store, everything: list[ObjectInfo]) -> Iterator[str]:
    keys = [info.key for info in everything if info.key.startswith("revisions/")]
    for key, data in zip(keys, store.read_each(keys), strict=True):
        if data is not None:
            for part in Revision.from_bytes(data, key).parts:
                # A file of this store may also be pinned by its absolute path or URL.
                yield part.path.removeprefix(f"{store.url}/").removeprefix(f"{store.display}/")


def _remove(store: Store, found: list[GarbageItem], before: float) -> Iterator[GarbageItem]:
    """Remove what is still as old as it was: equal data may have been written again meanwhile."""
    for folder, items in groupby(found, key=lambda item: str(PurePosixPath(item.key).parent)):
        prefix = "" if folder == "." else folder
        infos = [*store.list_infos(prefix), *store.list_leftovers(prefix)]
        old = {info.key for info in infos if info.modified < before}
        for item in items:
            if item.key in old:
                store.delete(item.key)
                yield item
