"""What must be true of the objects of a commit, before anything relies on them. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn, Protocol

from pipeline.errors import CorruptError, PlanMismatchError
from pipeline.records.plan import Manifest, Plan, Receipt

_MAKE_AGAIN = "remove this object and run the same command again: the part is then computed anew"


class Slice(Protocol):
    """The rows that a receipt must cover: a part of the plan, or another receipt of it."""

    @property
    def first_row(self) -> int:
        """Position in the input."""

    @property
    def rows(self) -> int:
        """How many."""


def parse_plan(data: bytes, where: str) -> Plan:
    """A plan that stands; its digest is that of its bytes."""
    plan = Plan.from_bytes(data, where)
    if plan.to_bytes() != data:
        raise CorruptError(f"{where}: was changed after it was written; restore it", where)
    return plan


def refuse_other_plan(stands: bytes, mine: bytes, where: str) -> NoReturn:
    """Raise PlanMismatchError that names the first member in which two plans differ; CorruptError where it is none."""
    Plan.from_bytes(stands, where)
    difference = _first_difference(json.loads(stands), json.loads(mine), "")
    field, theirs, ours = difference or ("bytes", "…", "…")
    raise PlanMismatchError(
        f"{where}: another plan stands here: {field} is {_short(theirs)} there and {_short(ours)} now; "
        "use another folder or run, or the same settings as before",
        field=field,
    )


def _first_difference(theirs: Any, mine: Any, path: str) -> tuple[str, Any, Any] | None:
    if isinstance(theirs, dict) and isinstance(mine, dict):
        # Lists of parts last: they follow from what is pinned, which says more.
        for name in sorted(theirs.keys() | mine.keys(), key=lambda name: (name == "parts", name)):
            found = _first_difference(theirs.get(name), mine.get(name), f"{path}.{name}" if path else name)
            if found:
                return found
        return None
    if isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        for position, (a, b) in enumerate(zip(theirs, mine, strict=True)):
            found = _first_difference(a, b, f"{path}[{position}]")
            if found:
                return found
        return None
    return None if theirs == mine else (path, theirs, mine)


def _short(value: Any) -> str:
    text = f"{len(value)} entries" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:80] + "…"


def parse_receipt(data: bytes, plan_sha256: str, part: Slice, where: str) -> Receipt:
    """A receipt that stands, checked."""
    try:
        receipt = Receipt.from_bytes(data, where)
    except CorruptError as error:
        raise CorruptError(f"{error}; {_MAKE_AGAIN}", where) from None
    check_receipt(receipt, plan_sha256, part, where)
    return receipt


def check_receipt(receipt: Receipt, plan_sha256: str, part: Slice, where: str) -> None:
    """Refuse a receipt of another plan or part, and one whose files do not hold its rows."""
    if receipt.plan_sha256 != plan_sha256:
        raise CorruptError(
            f"{where}: belongs to plan {receipt.plan_sha256}, expected {plan_sha256}; {_MAKE_AGAIN}", where
        )
    number = PurePosixPath(where).stem
    if str(receipt.part) != number:
        raise CorruptError(
            f"{where}: is the receipt of part {receipt.part}, expected part {number}; {_MAKE_AGAIN}", where
        )
    if (receipt.first_row, receipt.rows) != (part.first_row, part.rows):
        raise CorruptError(
            f"{where}: covers {receipt.rows} rows from {receipt.first_row}, "
            f"expected {part.rows} rows from {part.first_row}; {_MAKE_AGAIN}",
            where,
        )
    in_files = sum(file.rows for file in receipt.files)
    if in_files != receipt.rows:
        raise CorruptError(f"{where}: its files hold {in_files} rows, expected {receipt.rows}; {_MAKE_AGAIN}", where)


def check_files(receipt: Receipt, files: Mapping[str, bytes | Path]) -> None:
    """Refuse content that is not the receipt's, or not named by its digest."""
    named = [file.path for file in receipt.files]
    if sorted(named) != sorted(files):
        raise ValueError(
            f"part {receipt.part}: its receipt names {sorted(named)}, content was given for {sorted(files)}"
        )
    for file in receipt.files:
        if not file.path.startswith("data/") or PurePosixPath(file.path).name.split(".")[0] != file.sha256:
            raise ValueError(
                f"{file.path}: a data file is named data/…/<sha256>.<ending>, expected {file.sha256} in it"
            )


def build_manifest(plan: Plan, receipts: Mapping[int, Receipt]) -> Manifest:
    """The index over the receipts, in part order."""
    missing = [part.index for part in plan.parts if part.index not in receipts]
    if missing:
        raise ValueError(f"parts {missing[:10]} of {len(plan.parts)} have no receipt: nothing to commit yet")
    ordered = tuple(receipts[part.index] for part in plan.parts)
    rows, size = _totals(ordered)
    return Manifest(plan_sha256=plan.sha256, rows=rows, bytes=size, receipts=ordered)


def _totals(receipts: Iterable[Receipt]) -> tuple[int, int]:
    entries = list(receipts)
    return sum(entry.rows for entry in entries), sum(file.bytes for entry in entries for file in entry.files)


def parse_manifest(data: bytes, plan: Plan, where: str) -> Manifest:
    """An index that stands, checked against its plan: entry count and order, and each row exactly once."""
    manifest, digest = Manifest.from_bytes(data, where), plan.sha256
    if manifest.plan_sha256 != digest:
        raise CorruptError(f"{where}: belongs to plan {manifest.plan_sha256}, expected {digest}", where)
    found, expected = [receipt.part for receipt in manifest.receipts], [part.index for part in plan.parts]
    if found != expected:
        raise CorruptError(
            f"{where}: names {len(found)} parts, the plan has {len(expected)}, or in another order", where
        )
    for part, receipt in zip(plan.parts, manifest.receipts, strict=True):
        check_receipt(receipt, digest, part, f"{where}/{part.index}")
    if (manifest.rows, manifest.bytes) != _totals(manifest.receipts):
        raise CorruptError(f"{where}: its totals are not the sums of its entries", where)
    return manifest
