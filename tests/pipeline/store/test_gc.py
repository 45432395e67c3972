from __future__ import annotations

import hashlib
import os
import time

import pyarrow as pa
import pytest

from pipeline.errors import CorruptError
from pipeline.records.dataset import PartFile, Revision, encode_schema
from pipeline.records.plan import DataFile, Part, Plan, Receipt
from pipeline.store import Store
from pipeline.store.commit import begin, finish, publish
from pipeline.store.gc import collect_garbage

NOW = time.time()
PLAN = Plan(kind="test", pins={}, parts=(Part(index=0, first_row=0, rows=1),))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "s")


def age(store, hours=25.0):
    for info in [*store.list_infos(), *store.list_leftovers()]:
        os.utime(store.local_path(info.key), (NOW - hours * 3600,) * 2)


def attempt(data):
    sha256 = hashlib.sha256(data).hexdigest()
    file = DataFile(path=f"data/{sha256}.parquet", sha256=sha256, bytes=len(data), rows=1)
    return Receipt(plan_sha256=PLAN.sha256, part=0, rows=1, first_row=0, files=(file,)), {file.path: data}


def removed(store):
    return [item.key for item in collect_garbage(store, apply=True, now=NOW)]


def keep_revision(store, path):
    schema = encode_schema(pa.schema([("a", pa.int64())]))
    part = PartFile(path=path, rows=1, bytes=1, sha256="0" * 64)
    revision = Revision(dataset="d", arrow_schema=schema, parts=(part,))
    store.create(f"revisions/{revision.id}.json", revision.to_bytes())


@pytest.mark.parametrize("prefix", ["runs/r", ""])
@pytest.mark.parametrize("is_committed", [True, False])
def test_only_files_that_no_receipt_names_go(store, prefix, is_committed):
    begin(store, prefix, PLAN)
    receipt = publish(store, prefix, *attempt(b"mine"))
    if is_committed:
        finish(store, prefix, PLAN, {0: receipt})
    base = f"{prefix}/" if prefix else ""
    before = store.list()
    store.put(f"{base}data/{'e' * 64}.parquet", b"lost")
    age(store)
    assert removed(store) == [f"{base}data/{'e' * 64}.parquet"]
    assert store.list() == before


@pytest.mark.parametrize("prefix", ["runs/r", ""])
@pytest.mark.parametrize("is_committed", [True, False])
def test_rows_kept_of_a_part_go_when_nobody_has_worked_on_it_for_a_day(store, prefix, is_committed):
    begin(store, prefix, PLAN)
    receipt = publish(store, prefix, *attempt(b"mine"))
    if is_committed:
        finish(store, prefix, PLAN, {0: receipt})
    base = f"{prefix}/" if prefix else ""
    kept = [f"{base}journal/0/{name}" for name in ("at-3.json", "piece.arrow")]
    for key in kept:
        store.put(key, b"kept")
    assert removed(store) == []
    age(store)
    assert removed(store) == kept


def test_rows_kept_for_a_live_run_stay(store):
    begin(store, "runs/r", PLAN)
    store.put("runs/r/journal/0/piece.arrow", b"kept")
    age(store)
    store.put("runs/r/attempts/1/heartbeat.json", b"{}")
    assert removed(store) == []


def test_a_dry_run_removes_nothing(store):
    store.put("datasets/d/data/x.parquet", b"lost")
    age(store)
    items = collect_garbage(store, apply=False, now=NOW)
    assert [(item.key, item.bytes, item.reason) for item in items] == [
        ("datasets/d/data/x.parquet", 4, "data of no revision")
    ]
    assert store.exists("datasets/d/data/x.parquet")


def test_young_objects_stay(store):
    store.put("datasets/d/data/x.parquet", b"an upload that goes on")
    age(store, hours=23)
    assert removed(store) == []


def test_a_fresh_heartbeat_keeps_a_whole_run(store):
    begin(store, "runs/r", PLAN)
    store.put(f"runs/r/data/{'e' * 64}.parquet", b"in work")
    age(store)
    store.write("runs/r/attempts/1/heartbeat.json", b"{}")
    assert removed(store) == []


@pytest.mark.parametrize("path", ["{key}", "{root}/{key}", "file://{root}/{key}"])
def test_data_of_a_revision_stays_however_it_is_named(store, path):
    key = "datasets/d/data/x.parquet"
    store.put(key, b"x")
    keep_revision(store, path.format(key=key, root=store.display))
    age(store)
    assert removed(store) == []


def test_a_damaged_revision_stops_the_removal(store):
    store.put("datasets/d/data/x.parquet", b"x")
    store.put("revisions/r.json", b"{")
    age(store)
    with pytest.raises(CorruptError, match=r"revisions/r\.json"):
        removed(store)


def test_a_damaged_index_keeps_its_run(store):
    begin(store, "runs/r", PLAN)
    store.put(f"runs/r/data/{'e' * 64}.parquet", b"x")
    store.put("runs/r/manifest.json", b"{")
    age(store)
    assert removed(store) == []


def test_leftovers_of_writers_and_checks_go(store):
    (store.local_path("runs/r/x").parent).mkdir(parents=True)
    store.local_path("runs/r/.assay-1f.tmp").write_bytes(b"torn")
    store.put(".probe-1", b"first")
    store.put("functions/f/v1.pkl", b"lone")
    store.put("functions/f/v2.pkl", b"known")
    store.put("functions/f/v2.json", b"{}")
    age(store)
    assert sorted(removed(store)) == [".probe-1", "functions/f/v1.pkl", "runs/r/.assay-1f.tmp"]
    assert store.list_leftovers() == []


def test_data_that_was_written_again_meanwhile_stays(store, monkeypatch):
    key = "datasets/d/data/x.parquet"
    store.put(key, b"x")
    age(store)
    reads = []
    honest = Store.list_infos

    def list_and_write_again(self, prefix=""):
        if reads:
            self.put(key, b"x")
        reads.append(prefix)
        return honest(self, prefix)

    monkeypatch.setattr(Store, "list_infos", list_and_write_again)
    assert removed(store) == []
    assert store.exists(key)
