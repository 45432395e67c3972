"""Objects on a store: those that no other object binds notice by themselves that they were changed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from pipeline.errors import CorruptError
from pipeline.formats.canonical_json import canonical_json
from pipeline.records.base import Document
from pipeline.records.comparison import Comparison
from pipeline.records.evaluation import Outcome, SuiteRecord
from pipeline.records.head import Head
from pipeline.records.plan import DataFile, Manifest, Part, Plan, Receipt
from pipeline.records.report import Report
from pipeline.records.trajectory import Trajectory

FILE = DataFile(path="data/a.parquet", sha256="a" * 64, bytes=10, rows=2)
PLAN = Plan(kind="test", pins={"seed": 1}, parts=(Part(index=0, first_row=0, rows=2),))
RECEIPT = Receipt(plan_sha256=PLAN.sha256, part=0, rows=2, first_row=0, files=(FILE,))
MANIFEST = Manifest(plan_sha256=PLAN.sha256, rows=2, bytes=10, receipts=(RECEIPT,))
HEAD = Head(payload={"revision": "r", "big": 1e20, "long": 2**60, "sha256": "b" * 64, "text": 'é"sha256":'})


def test_an_unbound_object_carries_the_digest_of_the_rest() -> None:
    body = json.loads(MANIFEST.to_bytes())
    digest = body.pop("sha256")
    assert digest == hashlib.sha256(canonical_json(body)).hexdigest()
    assert MANIFEST.to_bytes() == canonical_json({**body, "sha256": digest}) + b"\n"


@pytest.mark.parametrize("document", [PLAN, RECEIPT, MANIFEST])
def test_what_is_written_is_read(document: Document) -> None:
    assert type(document).from_bytes(document.to_bytes()) == document


def test_numbers_that_json_reads_otherwise_do_not_count_as_changes() -> None:
    read = Head.from_bytes(HEAD.to_bytes())
    assert read.payload["big"] == 1e20
    assert read.payload["long"] == str(2**60)
    assert isinstance(read.payload["big"], float)  # or it would be written as text the next time
    assert read.to_bytes() == HEAD.to_bytes()
    assert json.loads(HEAD.to_bytes())["sha256"] == HEAD.content_sha256()


@pytest.mark.parametrize("document", [PLAN, RECEIPT])
def test_an_object_that_another_one_binds_has_no_digest_of_its_own(document: Document) -> None:
    body: dict[str, Any] = {"schema": document.schema_name, "version": 1, **document.model_dump(mode="json")}
    assert document.to_bytes() == canonical_json(body) + b"\n"


@pytest.mark.parametrize(
    "old, new",
    [
        (b'"rows":2', b'"rows":3'),
        (b'"bytes":10', b'"bytes":11'),
        (b'"sha256":"' + json.loads(MANIFEST.to_bytes())["sha256"].encode() + b'",', b""),
        (json.loads(MANIFEST.to_bytes())["sha256"].encode(), b"c" * 64),
        (b'"version":1}\n', b'"version": 1}\n'),
    ],
)
def test_an_edited_index_is_refused_by_its_name(old: bytes, new: bytes) -> None:
    edited = MANIFEST.to_bytes().replace(old, new)
    assert edited != MANIFEST.to_bytes()
    with pytest.raises(CorruptError, match=r"^runs/1/manifest\.json: was changed after it was written; restore it$"):
        Manifest.from_bytes(edited, "runs/1/manifest.json")


def test_every_kind_carries_its_digest_but_bound_ones_and_the_formats_that_are_exchanged() -> None:
    kinds = Document.__subclasses__()
    assert {Outcome, SuiteRecord, Head, Manifest} <= set(kinds)
    # Reports, comparisons and trajectories have the members of their formats and no more; who keeps one names the
    # digest of its file.
    assert {kind for kind in kinds if kind.is_bound} == {Plan, Receipt, Report, Comparison, Trajectory}
