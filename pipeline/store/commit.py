"""One commit protocol: a plan, its parts' receipts, and the index that makes them a result.

    plan.json         first, create-only: what is to be done, by content
    data/…/<sha256>.…  by workers, named by their bytes
    receipt/<i>.json  by workers, create-only: what part i left behind; the first stands
    manifest.json     last, by the driver, create-only: the receipts in part order

All names are deterministic and no step relies on listing, so any stop can be resumed. A part's rows make its files
unique (results carry row ids): no two parts share a file. Knows neither Ray nor evaluations.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from pipeline.errors import CorruptError, MissingError, StoreError
from pipeline.records.plan import DataFile, Manifest, Part, Plan, Receipt
from pipeline.store.backend import ObjectInfo
from pipeline.store.commit_checks import (
    build_manifest,
    check_files,
    check_receipt,
    parse_manifest,
    parse_plan,
    parse_receipt,
    refuse_other_plan,
)

LEFTOVER_AGE_S = 600.0
"""Seconds after which a temporary file belongs to a writer that was killed; a live one writes it in moments."""


class CommitStore(Protocol):
    """What the protocol needs of a store; `pipeline.store.Store` is one."""

    def probe(self) -> None:
        """Refuse a store that overwrites."""

    def read(self, key: str, *, sha256: str | None = None) -> bytes:
        """The whole object, checked against its digest."""

    def read_each(self, keys: Iterable[str]) -> list[bytes | None]:
        """Many objects, in order; None where there is none."""

    def create(self, key: str, data: bytes) -> bytes:
        """Create unless one stands; the bytes that stand."""

    def put(self, key: str, data: bytes | Path) -> None:
        """Write an object that is named by its content."""

    def size(self, key: str) -> int | None:
        """Bytes; None where there is no object."""

    def list_leftovers(self, prefix: str) -> list[ObjectInfo]:
        """Temporary files that writers left behind."""

    def list(self, prefix: str) -> list[str]:
        """All keys below a folder."""

    def delete(self, key: str) -> None:
        """Remove an object; an absent one is fine."""


class Progress(NamedTuple):
    """What stands already."""

    manifest: Manifest | None
    """The index, where the work is committed."""
    receipts: dict[int, Receipt]
    """By part; empty where the index stands."""


def begin(store: CommitStore, prefix: str, plan: Plan, *, clock: Callable[[], float] = time.time) -> Progress:
    """Set up or resume the work of a plan.

    Args:
        prefix: the plan's folder below the store's root; "" for the root itself.
        clock: Unix seconds; decides which temporary files are old.

    Raises:
        UnsafeStoreError: the store overwrites.
        PlanMismatchError: another plan stands here; `field` is the first difference.
        CorruptError: what stands here is damaged, or belongs to another plan.
    """
    store.probe()
    mine = plan.to_bytes()
    _compare_plans(store.create(_key(prefix, "plan.json"), mine), mine, prefix)
    _remove_leftovers(store, prefix, clock() - LEFTOVER_AGE_S)
    keys = [_receipt_key(prefix, part.index) for part in plan.parts]
    index, *receipts = store.read_each([_key(prefix, "manifest.json"), *keys])
    if index is not None:
        return Progress(parse_manifest(index, plan, _key(prefix, "manifest.json")), {})
    found, digest = {}, plan.sha256
    for part, key, data in zip(plan.parts, keys, receipts, strict=True):
        if data is not None:
            found[part.index] = parse_receipt(data, digest, part, key)
    return Progress(None, found)


def check_plan(store: CommitStore, prefix: str, plan: Plan) -> None:
    """Compare a plan with the one that stands. Writes nothing.

    Raises:
        MissingError: none stands.
        PlanMismatchError, CorruptError: as `begin`.
    """
    _compare_plans(store.read(_key(prefix, "plan.json")), plan.to_bytes(), prefix)


def publish(store: CommitStore, prefix: str, receipt: Receipt, files: Mapping[str, bytes | Path]) -> Receipt:
    """Store a part's files, then its receipt. Called by a worker.

    Args:
        files: the content of each of `receipt.files`, by path.

    Returns:
        The receipt that stands for the part. Where it is another attempt's, the own files are dropped.

    Raises:
        ValueError: `files` are not those of the receipt, or are not named by their digest.
        CorruptError: the receipt that stands is damaged or another part's, or an upload was cut short.
    """
    check_files(receipt, files)
    for file in receipt.files:
        store.put(_key(prefix, file.path), files[file.path])
    key = _receipt_key(prefix, receipt.part)
    _check_arrival(store, prefix, receipt, key)
    mine = receipt.to_bytes()
    stands = store.create(key, mine)
    if stands == mine:
        return receipt
    standing = parse_receipt(stands, receipt.plan_sha256, receipt, key)
    _drop(store, prefix, receipt.files, kept=standing.files)
    return standing


def standing_receipt(store: CommitStore, prefix: str, plan_sha256: str, part: Part) -> Receipt | None:
    """The receipt that an earlier attempt at a part has left; None where there is none.

    Raises:
        CorruptError: it is damaged, or another part's.
    """
    key = _receipt_key(prefix, part.index)
    try:
        data = store.read(key)
    except MissingError:
        return None
    return parse_receipt(data, plan_sha256, part, key)


def finish(store: CommitStore, prefix: str, plan: Plan, receipts: Mapping[int, Receipt]) -> Manifest:
    """Commit: create the index of all receipts, then sweep what it does not name. Called by the driver.

    Args:
        receipts: the receipts that stand, by part: from workers' replies and `begin`.

    Returns:
        The index that stands.

    Raises:
        ValueError: a part has no receipt.
        CorruptError: a receipt is another plan's or part's, or the index that stands is damaged.
    """
    key, digest = _key(prefix, "manifest.json"), plan.sha256
    for part in plan.parts:
        if part.index in receipts:
            check_receipt(receipts[part.index], digest, part, _receipt_key(prefix, part.index))
    manifest = build_manifest(plan, receipts)
    # Written last: a reader that finds it finds every part.
    stands = store.create(key, manifest.to_bytes())
    standing = parse_manifest(stands, plan, key)
    _sweep(store, prefix, standing)
    return standing


def read_manifest(store: CommitStore, prefix: str) -> Manifest | None:
    """The index, checked against its plan; None where nothing is committed.

    Raises:
        CorruptError: the index or the plan is damaged, or they do not belong together.
    """
    key = _key(prefix, "manifest.json")
    plan, index = store.read_each([_key(prefix, "plan.json"), key])
    if index is None:
        return None
    if plan is None:
        raise CorruptError(f"{key}: its plan.json is missing; restore it, or run the work again elsewhere", key)
    return parse_manifest(index, parse_plan(plan, _key(prefix, "plan.json")), key)


def verify(store: CommitStore, prefix: str, manifest: Manifest) -> None:
    """Read every file of a result and check its size and SHA-256.

    Raises:
        CorruptError: a file is missing or has other bytes.
    """
    for receipt in manifest.receipts:
        for file in receipt.files:
            key = _key(prefix, file.path)
            try:
                data = store.read(key, sha256=file.sha256)
            except MissingError:
                raise CorruptError(
                    f"{key}: named by manifest.json, but missing; restore it, or run again", key
                ) from None
            if len(data) != file.bytes:
                raise CorruptError(f"{key}: has {len(data)} bytes, manifest.json says {file.bytes}", key)


def _compare_plans(stands: bytes, mine: bytes, prefix: str) -> None:
    if stands != mine:
        refuse_other_plan(stands, mine, _key(prefix, "plan.json"))


def _check_arrival(store: CommitStore, prefix: str, receipt: Receipt, key: str) -> None:
    for file in receipt.files:
        path = _key(prefix, file.path)
        found = store.size(path)
        # Once a receipt stands, a driver may have swept the files of this late attempt: no harm done.
        if found != file.bytes and store.size(key) is None:
            raise CorruptError(f"{path}: wrote {file.bytes} bytes, found {found}; the upload was cut short", path)


def _drop(store: CommitStore, prefix: str, files: Iterable[DataFile], *, kept: Iterable[DataFile]) -> None:
    named = {file.path for file in kept}
    for file in files:
        if file.path not in named:
            with contextlib.suppress(StoreError):  # what stays behind is swept after the commit
                store.delete(_key(prefix, file.path))


def _sweep(store: CommitStore, prefix: str, manifest: Manifest) -> None:
    """Remove data that no receipt of the index names. The work is committed: a fault here changes nothing."""
    named = {_key(prefix, file.path) for receipt in manifest.receipts for file in receipt.files}
    with contextlib.suppress(StoreError):
        for key in store.list(_key(prefix, "data")):
            if key not in named and is_data_file(key):
                store.delete(key)


def is_data_file(key: str) -> bool:
    """Whether a key has the form of a worker's data; anything else in the folder is somebody else's."""
    return re.fullmatch(r"[0-9a-f]{64}\.[a-z]+", key.rpartition("/")[2]) is not None


def _remove_leftovers(store: CommitStore, prefix: str, before: float) -> None:
    with contextlib.suppress(StoreError):
        for info in store.list_leftovers(prefix):
            if info.modified < before:
                store.delete(info.key)


def _key(prefix: str, name: str) -> str:
    return f"{prefix.rstrip('/')}/{name}" if prefix else name


def _receipt_key(prefix: str, part: int) -> str:
    return _key(prefix, f"receipt/{part}.json")
