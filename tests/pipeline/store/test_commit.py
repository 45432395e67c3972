from __future__ import annotations

import hashlib
import json

import pytest

from pipeline.errors import CorruptError, PlanMismatchError
from pipeline.formats.canonical_json import canonical_json
from pipeline.records.digest import digest_json
from pipeline.records.plan import DataFile, Part, Plan, Receipt
from pipeline.store import Store
from pipeline.store.commit import begin, finish, publish, read_manifest, standing_receipt, verify

PREFIX = "runs/r"
PARTS = tuple(Part(index=i, first_row=i * 2, rows=2) for i in range(3))
PLAN = Plan(kind="test", pins={"dataset": "d", "scorers": [{"name": "a", "version": "1"}]}, parts=PARTS)


def attempt(part, *, plan=PLAN, salt=b"", folder="data"):
    data = b"rows of part %d" % part + salt
    sha256 = hashlib.sha256(data).hexdigest()
    file = DataFile(path=f"{folder}/{sha256}.parquet", sha256=sha256, bytes=len(data), rows=2)
    receipt = Receipt(plan_sha256=plan.sha256, part=part, rows=2, first_row=2 * part, files=(file,))
    return receipt, {file.path: data}


def publish_all(store, prefix=PREFIX, **options):
    return {part.index: publish(store, prefix, *attempt(part.index, **options)) for part in PARTS}


@pytest.fixture(params=["local", "memory", "moto", "seaweed"])
def store(request, tmp_path):
    if request.param in ("moto", "seaweed"):
        server = request.getfixturevalue(request.param)
        return Store(f"s3://{server.bucket}/{tmp_path.name}", options=server.options)
    return Store(tmp_path if request.param == "local" else f"memory://{tmp_path.name}")


@pytest.fixture
def folder(tmp_path):
    return Store(tmp_path / "store")


@pytest.mark.parametrize("prefix", [PREFIX, ""])
def test_parts_become_one_result_that_stays(store, prefix):
    assert begin(store, prefix, PLAN) == (None, {})
    assert read_manifest(store, prefix) is None
    receipts = publish_all(store, prefix)
    assert begin(store, prefix, PLAN) == (None, receipts)
    manifest = finish(store, prefix, PLAN, receipts)
    assert (manifest.rows, [receipt.part for receipt in manifest.receipts]) == (6, [0, 1, 2])
    assert begin(store, prefix, PLAN).manifest == read_manifest(store, prefix) == manifest
    assert finish(store, prefix, PLAN, receipts) == manifest
    verify(store, prefix, manifest)


def test_the_first_receipt_stands_and_the_loser_drops_its_data(store):
    begin(store, PREFIX, PLAN)
    first, _ = attempt(1)
    publish(store, PREFIX, *attempt(1))
    late, files = attempt(1, salt=b" again")
    assert publish(store, PREFIX, late, files) == first
    assert store.list(f"{PREFIX}/data") == [f"{PREFIX}/{first.files[0].path}"]


def test_a_part_that_was_done_before_is_known_by_its_receipt(store):
    begin(store, PREFIX, PLAN)
    assert standing_receipt(store, PREFIX, PLAN.sha256, PARTS[1]) is None
    receipt = publish(store, PREFIX, *attempt(1))
    assert standing_receipt(store, PREFIX, PLAN.sha256, PARTS[1]) == receipt
    with pytest.raises(CorruptError, match=r"receipt/1.json: belongs to plan"):
        standing_receipt(store, PREFIX, "0" * 64, PARTS[1])


def test_the_index_is_the_same_bytes_whoever_commits(folder, tmp_path):
    other = Store(tmp_path / "other")
    for store, order in ((folder, (0, 1, 2)), (other, (2, 0, 1))):
        begin(store, PREFIX, PLAN)
        receipts = {part: publish(store, PREFIX, *attempt(part)) for part in order}
        finish(store, PREFIX, PLAN, receipts)
    assert folder.read(f"{PREFIX}/manifest.json") == other.read(f"{PREFIX}/manifest.json")


def test_after_the_commit_files_of_losers_are_swept(folder):
    begin(folder, PREFIX, PLAN)
    receipts = publish_all(folder)
    folder.put(f"{PREFIX}/data/lang=en/{'0' * 64}.parquet", b"of a worker that was killed")
    folder.put("runs/other/data/x.parquet", b"not ours")
    folder.put(f"{PREFIX}/telemetry/x.json", b"not data")
    finish(folder, PREFIX, PLAN, receipts)
    assert len(folder.list(f"{PREFIX}/data")) == 3
    assert folder.exists("runs/other/data/x.parquet")
    assert folder.exists(f"{PREFIX}/telemetry/x.json")


@pytest.mark.parametrize(
    "change, field, text",
    [
        ({"kind": "other"}, "kind", 'kind is "test" there and "other" now'),
        ({"pins": {"dataset": "e", "scorers": []}}, "pins.dataset", 'pins.dataset is "d" there and "e" now'),
        (
            {"pins": {"dataset": "d", "scorers": [{"name": "a", "version": "2"}]}},
            "pins.scorers[0].version",
            'version is "1" there and "2" now',
        ),
        ({"pins": {"dataset": "d", "scorers": []}}, "pins.scorers", "1 entries there and 0 entries now"),
        ({"parts": PARTS[:2]}, "parts", "3 entries there and 2 entries now"),
    ],
)
def test_another_plan_is_refused_before_any_work_and_says_what_differs(folder, change, field, text):
    begin(folder, PREFIX, PLAN)
    with pytest.raises(PlanMismatchError, match="another plan stands here") as caught:
        begin(folder, PREFIX, PLAN.model_copy(update=change))
    assert caught.value.field == field
    assert text in str(caught.value)


def test_a_part_without_receipt_is_never_committed(folder):
    begin(folder, PREFIX, PLAN)
    receipts = publish_all(folder)
    del receipts[1]
    with pytest.raises(ValueError, match=r"parts \[1\] of 3 have no receipt"):
        finish(folder, PREFIX, PLAN, receipts)
    assert not folder.exists(f"{PREFIX}/manifest.json")


def standing(folder, part, data):
    begin(folder, PREFIX, PLAN)
    folder.create(f"{PREFIX}/receipt/{part}.json", data)


OTHER_PLAN = PLAN.model_copy(update={"kind": "other"})


@pytest.mark.parametrize(
    "data, text",
    [
        (attempt(0)[0].to_bytes()[:40], "not JSON"),
        (b"", "not JSON"),
        (attempt(1)[0].to_bytes(), "is the receipt of part 1, expected part 0"),
        (attempt(0, plan=OTHER_PLAN)[0].to_bytes(), f"belongs to plan {OTHER_PLAN.sha256}, expected {PLAN.sha256}"),
        (attempt(0)[0].model_copy(update={"first_row": 1}).to_bytes(), "covers 2 rows from 1, expected 2 rows from 0"),
        (attempt(0)[0].model_copy(update={"files": ()}).to_bytes(), "its files hold 0 rows, expected 2"),
        (attempt(0)[0].to_bytes().replace(b'"version":1', b'"version":9'), "expected assay.receipt version 1"),
    ],
)
def test_a_receipt_that_does_not_belong_here_is_named_with_the_way_out(folder, data, text):
    standing(folder, 0, data)
    for call in (lambda: begin(folder, PREFIX, PLAN), lambda: publish(folder, PREFIX, *attempt(0))):
        with pytest.raises(CorruptError) as caught:
            call()
        assert caught.value.key == f"{PREFIX}/receipt/0.json"
        assert text in str(caught.value)
        assert "remove this object and run the same command again" in str(caught.value)


def test_a_reply_of_another_plans_worker_is_not_committed(folder):
    begin(folder, PREFIX, PLAN)
    receipts = publish_all(folder)
    receipts[2], _ = attempt(2, plan=OTHER_PLAN)
    with pytest.raises(CorruptError, match="belongs to plan"):
        finish(folder, PREFIX, PLAN, receipts)


@pytest.mark.parametrize(
    "data", [b"{", PLAN.to_bytes()[:-20], PLAN.to_bytes().replace(b'"version":1}', b'"version":7}')]
)
def test_a_plan_that_cannot_be_read_is_named(folder, data):
    folder.create(f"{PREFIX}/plan.json", data)
    with pytest.raises(CorruptError, match=r"runs/r/plan\.json"):
        begin(folder, PREFIX, PLAN)


def committed(folder):
    begin(folder, PREFIX, PLAN)
    return finish(folder, PREFIX, PLAN, publish_all(folder))


def with_its_digest(data):
    body = json.loads(data)
    del body["sha256"]
    return canonical_json({**body, "sha256": digest_json(body)}) + b"\n"


@pytest.mark.parametrize(
    "old, new, text",
    [
        (b'"rows":6', b'"rows":7', "totals are not the sums"),
        (b'"part":1', b'"part":2', "or in another order"),
        (PLAN.sha256.encode(), OTHER_PLAN.sha256.encode(), "belongs to plan"),
        (b'"first_row":2', b'"first_row":3', "covers 2 rows from 3"),
    ],
)
def test_an_edited_index_is_noticed(folder, old, new, text):
    committed(folder)
    key = f"{PREFIX}/manifest.json"
    edited = folder.read(key).replace(old, new)
    for data, told in [(edited, "was changed after it was written"), (with_its_digest(edited), text)]:
        folder.write(key, data)
        with pytest.raises(CorruptError, match=told):
            read_manifest(folder, PREFIX)


def test_an_index_whose_plan_was_changed_or_is_gone_is_no_result(folder):
    committed(folder)
    folder.write(f"{PREFIX}/plan.json", OTHER_PLAN.to_bytes())
    with pytest.raises(CorruptError, match="belongs to plan"):
        read_manifest(folder, PREFIX)
    folder.delete(f"{PREFIX}/plan.json")
    with pytest.raises(CorruptError, match=r"its plan\.json is missing"):
        read_manifest(folder, PREFIX)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"R" + data[1:]])
def test_a_changed_file_is_found_by_its_digest(folder, damage):
    manifest = committed(folder)
    key = f"{PREFIX}/{manifest.receipts[1].files[0].path}"
    folder.write(key, damage(folder.read(key)))
    with pytest.raises(CorruptError, match="its SHA-256 is") as caught:
        verify(folder, PREFIX, manifest)
    assert caught.value.key == key


def test_a_missing_file_is_found(folder):
    manifest = committed(folder)
    folder.delete(f"{PREFIX}/{manifest.receipts[2].files[0].path}")
    with pytest.raises(CorruptError, match=r"named by manifest\.json, but missing"):
        verify(folder, PREFIX, manifest)


def test_content_must_be_the_receipts_and_named_by_its_digest(folder):
    receipt, files = attempt(0)
    with pytest.raises(ValueError, match="content was given for"):
        publish(folder, PREFIX, receipt, {})
    file = receipt.files[0].model_copy(update={"path": "data/part-0.parquet"})
    with pytest.raises(ValueError, match=r"a data file is named data/…/<sha256>"):
        publish(
            folder, PREFIX, receipt.model_copy(update={"files": (file,)}), {file.path: files[receipt.files[0].path]}
        )


def test_a_part_may_be_partitioned_over_folders(folder):
    begin(folder, PREFIX, PLAN)
    receipts = publish_all(folder, folder="data/lang=a b%2Fc")
    verify(folder, PREFIX, finish(folder, PREFIX, PLAN, receipts))


def test_an_index_of_ten_thousand_parts_is_one_put(moto, tmp_path):
    parts = tuple(Part(index=i, first_row=2 * i, rows=2) for i in range(10_000))
    plan = Plan(kind="test", pins={}, parts=parts)
    receipts, digest = {}, plan.sha256
    for part in parts:
        sha256 = f"{part.index:064x}"
        file = DataFile(path=f"data/{sha256}.parquet", sha256=sha256, bytes=1, rows=2)
        receipts[part.index] = Receipt(
            plan_sha256=digest, part=part.index, rows=2, first_row=part.first_row, files=(file,), sums={"x": "x" * 300}
        )
    store = Store(f"s3://{moto.bucket}/{tmp_path.name}", options=moto.options)
    manifest = finish(store, "", plan, receipts)
    assert (store.size("manifest.json") or 0) > 5 << 20
    assert store.create("manifest.json", b"late") == manifest.to_bytes()
