"""DatasetClient: uploads become revisions, names resolve to the newest, and bad input leaves nothing behind."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import CorruptError, DatasetError, MissingError, UnavailableError
from pipeline.records.dataset import DatasetRevisionRef
from pipeline.records.head import Head
from pipeline.store import DatasetClient, Store, register_revision, resolve_revision
from pipeline.store.heads import append_head, current_head, list_heads
from pipeline.store.pinned import pin_files, pin_stored
from pipeline.store.revisions import as_ref

ROWS = [{"message": "hello", "n": 1}, {"message": None, "n": 2}]


@pytest.fixture
def client(tmp_path: Path) -> DatasetClient:
    return DatasetClient(tmp_path / "store")


def test_what_is_uploaded_is_read_back(client):
    ref = client.upload("support-triage", ROWS)
    assert ref.dataset_id == "support-triage"
    assert client.read(ref).to_pylist() == ROWS
    assert client.read(ref.revision_id).to_pylist() == ROWS


def test_the_same_rows_are_one_revision_in_whatever_form_they_come(client, tmp_path):
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, tmp_path / "rows.parquet", compression="gzip", row_group_size=1)
    (tmp_path / "rows.csv").write_text("message,n\nhello,1\n,2\n")
    (tmp_path / "rows.jsonl").write_text('{"message":"hello","n":1}\n{"message":null,"n":2}\n')
    columns = {"message": ["hello", None], "n": [1, 2]}
    forms = [ROWS, table, columns, tmp_path / "rows.parquet", tmp_path / "rows.csv", [tmp_path / "rows.jsonl"]]
    assert len({client.upload("same", form).revision_id for form in forms}) == 1
    assert len(client.revisions("same")) == 1
    assert len(client.store.list("datasets/same/data")) == 1


@settings(max_examples=40, deadline=None)
@given(
    cells=st.lists(st.tuples(st.none() | st.text(max_size=5), st.none() | st.floats(), st.lists(st.integers(0, 9)))),
    cuts=st.lists(st.integers(1, 5), min_size=1),
)
def test_a_revision_does_not_depend_on_how_its_rows_arrive(tmp_path_factory, cells, cuts):
    client = DatasetClient(tmp_path_factory.mktemp("store"))
    schema = pa.schema([("t", pa.string()), ("f", pa.float64()), ("l", pa.list_(pa.int64()))])
    table = pa.table([list(column) for column in zip(*cells, strict=True)] or [[], [], []], schema=schema)
    pieces, start = [], 0
    while start < table.num_rows:
        pieces += table.slice(start, cuts[len(pieces) % len(cuts)]).to_batches()
        start += cuts[(len(pieces) - 1) % len(cuts)]
    whole = client.upload("d", table)
    assert client.upload("d", pa.RecordBatchReader.from_batches(schema, iter(pieces))) == whole
    read = client.read(whole)
    assert read.schema == schema
    assert repr(read.to_pylist()) == repr(table.to_pylist())


@pytest.mark.parametrize(
    "kind",
    [pa.null(), pa.time32("s"), pa.timestamp("s"), pa.timestamp("ns", "Europe/Berlin"), pa.date64(), pa.duration("s"),
     pa.float16(), pa.decimal128(5, 2), pa.large_string(), pa.large_list(pa.string()), pa.map_(pa.string(), pa.int64()),
     pa.list_(pa.int64(), 3), pa.struct([("a", pa.null())]), pa.binary(4), pa.uint64(),
     pa.list_(pa.struct([("q", pa.bool_())]))],
    ids=str,
)  # fmt: skip
def test_every_type_that_parquet_holds_comes_back_as_it_was(client, kind):
    table = pa.table({"c": pa.nulls(3, kind)})
    assert client.read(client.upload("types", table)).schema == table.schema


def test_nulls_nan_and_a_column_that_is_never_null_come_back(client):
    schema = pa.schema([pa.field("a", pa.float64()), pa.field("b", pa.int64(), nullable=False)])
    table = pa.table([[None, float("nan")], [1, 2]], schema=schema)
    read = client.read(client.upload("d", table))
    assert read.schema == schema
    assert repr(read["a"].to_pylist()) == "[None, nan]"


def test_a_header_alone_and_empty_tables_are_datasets_without_rows(client, tmp_path):
    (tmp_path / "h.csv").write_text("a,b\n")
    ref = client.upload("empty", tmp_path / "h.csv")
    assert client.read(ref).schema == pa.schema([("a", pa.string()), ("b", pa.string())])
    assert client.read(client.upload("empty", pa.table({"a": pa.array([], pa.int64())}))).num_rows == 0


def test_an_upload_under_a_known_name_is_its_newest_revision(client):
    first, second = client.upload("d", ROWS), client.upload("d", ROWS[:1])
    assert client.resolve("d") == second
    assert client.resolve(DatasetRevisionRef(dataset_name="d")) == second
    assert client.read(first).num_rows == 2
    assert [info.revision_id for info in client.revisions("d")] == [second.revision_id, first.revision_id]
    third = client.upload("d", ROWS)
    assert third == first
    assert client.resolve("d") == first
    assert len(client.revisions("d")) == 3


def test_datasets_are_listed_with_what_is_in_them(client):
    client.upload("b", {"x": [1, 2, 3]})
    ref = client.upload("a", ROWS)
    infos = client.list()
    assert [(info.dataset_id, info.rows, info.columns) for info in infos] == [
        ("a", 2, ("message", "n")),
        ("b", 3, ("x",)),
    ]
    assert infos[0].ref == ref == as_ref(infos[0])
    assert infos[0].source == {"kind": "rows"}
    assert infos[0].uploaded_at.tzinfo is not None
    assert client.revisions("unknown") == []


def test_results_of_runs_are_listed_only_where_asked_for(client):
    revision = resolve_revision(client.store, client.upload("d", ROWS))
    other = resolve_revision(client.store, client.upload("run-1", ROWS[:1]))
    register_revision(Store(client.store.url), other.model_copy(update={"source": {"kind": "run"}}), "copy")
    assert revision.rows == 2
    assert [info.dataset_id for info in client.list()] == ["copy", "d", "run-1"]


def test_a_result_of_a_run_is_read_in_the_order_of_its_rows(client):
    ref = client.upload("result", pa.table({"__assay_row_id": [2, 0, 1], "v": ["c", "a", "b"]}))
    assert client.read(ref)["v"].to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "name, options, error, message",
    [
        ("  ", {}, ValueError, "name is blank"),
        ("No Spaces", {}, ValueError, "for example 'no-spaces'"),
        ("Upper", {}, ValueError, "is not allowed"),
        (3, {}, TypeError, "expected text"),
        ("d", {"part_size_bytes": 0}, ValueError, "part_size_bytes is 0"),
        ("d", {"part_size_bytes": True}, ValueError, "part_size_bytes is True"),
        ("d", {"part_size_bytes": 1.5}, ValueError, "part_size_bytes is 1.5"),
        ("d", {"timeout": 0}, ValueError, "timeout is 0"),
        ("d", {"timeout": -1.0}, ValueError, "timeout is -1.0"),
        ("d", {"timeout": float("inf")}, ValueError, "timeout is inf"),
        ("d", {"timeout": float("nan")}, ValueError, "timeout is nan"),
        ("d", {"timeout": True}, ValueError, "timeout is True"),
        ("d", {"on_progress": 3}, TypeError, "on_progress is not callable"),
        ("d", {"delimiter": ",,"}, ValueError, "delimiter is ',,'"),
        ("d", {"delimiter": '"'}, ValueError, "delimiter is"),
        ("d", {"pin": True, "column_types": {"n": "int"}}, ValueError, "pinned Parquet has types of its own"),
        ("d", {"pin": True}, TypeError, "only Parquet files can be pinned"),
    ],
)
def test_wrong_arguments_are_refused_before_any_work(client, name, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        client.upload(name, ROWS, **options)
    assert client.store.list("") == []


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), True, "3"])
def test_a_read_needs_a_positive_time(client, timeout):
    with pytest.raises(ValueError, match="timeout is"):
        client.read("x", timeout=timeout)


def test_a_full_disk_is_told_and_nothing_is_registered(client, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pipeline.store.datasets.write_parquet", full)
    with pytest.raises(UnavailableError, match="the disk is full; free some space"):
        client.upload("d", ROWS)
    assert client.list() == []


def test_data_that_is_refused_leaves_nothing_behind(client, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n" + "1,2\n" * 100_000 + "3\n")
    with pytest.raises(DatasetError, match="line 100002"):
        client.upload("d", tmp_path / "bad.csv")
    assert client.store.list("") == []


@pytest.mark.parametrize(
    "revision, error, message",
    [
        ("", ValueError, "the revision id is blank"),
        (" ", ValueError, "the revision id is blank"),
        ("0" * 64, DatasetError, "no revision"),
        ("../../etc/passwd", DatasetError, "no revision"),
        ("d", DatasetError, "'d' is a dataset: pass client.resolve('d')"),
        (DatasetRevisionRef(dataset_name="d"), ValueError, "client.read(client.resolve('d'))"),
        (DatasetRevisionRef(dataset_id="d", revision_id="0" * 64), DatasetError, "no revision"),
        (None, DatasetError, "has no result"),
        (SimpleNamespace(result_dataset=None), DatasetError, "has no result"),
        (3, TypeError, "found int"),
    ],
)
def test_what_cannot_be_read_is_said_clearly(client, revision, error, message):
    client.upload("d", ROWS)
    with pytest.raises(error, match=re.escape(message)) as raised:
        client.read(revision)
    assert getattr(raised.value, "status_code", 404) == 404


def test_a_run_that_has_succeeded_can_be_read_itself(client):
    run = SimpleNamespace(result_dataset=client.upload("d", ROWS))
    assert client.read(run).to_pylist() == ROWS


def test_an_unknown_name_names_the_nearest(client):
    client.upload("support", ROWS)
    with pytest.raises(DatasetError, match="did you mean 'support'"):
        client.resolve("suport")


def test_references_are_taken_from_any_object_that_has_the_ids():
    ids = SimpleNamespace(dataset_id="d", revision_id=7)
    assert as_ref(ids) == DatasetRevisionRef(dataset_id="d", revision_id="7")
    assert as_ref(SimpleNamespace(dataset_name=" d ")) == DatasetRevisionRef(dataset_name="d")
    for other in ("d", 3, SimpleNamespace(dataset_id="d", revision_id=None)):
        with pytest.raises(TypeError):
            as_ref(other)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "rows", "table", "reader", "empty"])
def test_progress_counts_bytes_and_ends_only_when_all_is_stored(client, tmp_path, form):
    table = pa.table({"a": list(range(100_000)), "b": ["text"] * 100_000})
    table.to_pandas().to_csv(tmp_path / "d.csv", index=False)
    pl.DataFrame(table).write_ndjson(tmp_path / "d.jsonl")
    pq.write_table(table, tmp_path / "d.parquet")
    data = {"rows": table.to_pylist(), "table": table, "reader": table.to_reader(), "empty": table.slice(0, 0)}
    path = tmp_path / f"d.{form}"
    calls: list[tuple[int, int]] = []
    client.upload("d", data.get(form, path), on_progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert calls[-1][0] == calls[-1][1]
    assert all(done < total for done, total in calls[:-1])
    if path.exists():
        assert calls[-1][1] == os.path.getsize(path)
        assert len(calls) > 2


def test_pinned_parquet_stays_where_it_is_and_is_checked_when_read(client, tmp_path, monkeypatch):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    monkeypatch.chdir(tmp_path)
    ref = client.upload("pinned", "d.parquet", pin=True)
    assert client.read(ref)["a"].to_pylist() == [1, 2, 3]
    assert client.store.list("datasets/pinned/data") == []
    assert resolve_revision(client.store, ref).parts[0].path == str(path)
    pq.write_table(pa.table({"a": [1, 2, 4]}), path)
    with pytest.raises(CorruptError, match=r"d\.parquet: has changed since it was pinned"):
        client.read(ref)
    path.unlink()
    with pytest.raises(MissingError, match=r"d\.parquet: is gone"):
        client.read(ref)


def test_only_parquet_with_equal_columns_can_be_pinned(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    (tmp_path / "d.csv").write_text("a\n1\n")
    with pytest.raises(DatasetError, match="column 'a' is string, but int64 in"):
        pin_files([f"{tmp_path}/*.parquet"])
    with pytest.raises(DatasetError, match="only Parquet files can be pinned"):
        pin_files([tmp_path / "d.csv"])
    (tmp_path / "3.parquet").write_bytes(b"PAR1")
    with pytest.raises(DatasetError, match=r"3\.parquet: not a whole Parquet file"):
        pin_files([tmp_path / "3.parquet"])


def test_a_stored_revision_can_be_referred_to_from_another_store(client, tmp_path):
    revision = resolve_revision(client.store, client.upload("d", ROWS))
    other = DatasetClient(tmp_path / "other")
    ref = register_revision(other.store, pin_stored(client.store, revision))
    assert ref.revision_id == revision.id
    assert other.read(ref).to_pylist() == ROWS


def test_pinned_files_that_moved_away_are_told_when_they_are_registered_again(client, tmp_path):
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    pq.write_table(pa.table({"a": [1]}), first)
    second.write_bytes(first.read_bytes())
    client.upload("d", first, pin=True)
    assert client.upload("d", second, pin=True) == client.resolve("d")
    first.unlink()
    with pytest.raises(DatasetError, match=r"1\.parquet, which is gone"):
        client.upload("d", second, pin=True)


def test_a_damaged_part_is_found_when_it_is_read(client):
    ref = client.upload("d", ROWS)
    (key,) = client.store.list("datasets/d/data")
    path = client.store.local_path(key)
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptError, match="was damaged or replaced"):
        client.read(ref)


def test_a_revision_without_a_name_gets_no_head(client):
    revision = resolve_revision(client.store, client.upload("d", ROWS))
    other = revision.model_copy(update={"dataset": "hidden"})
    assert register_revision(client.store, other, None).revision_id == revision.id
    assert [info.dataset_id for info in client.list()] == ["d"]


def test_heads_are_counted_up_and_the_last_one_counts(tmp_path):
    store = Store(tmp_path)
    assert current_head(store, "functions/f") is None
    for version in ("a", "b", "b", "a"):
        append_head(store, "functions/f", {"version": version})
    assert [entry.payload["version"] for entry in list_heads(store, "functions/f")] == ["a", "b", "a"]
    assert current_head(store, "functions/f") == {"version": "a"}


def test_two_heads_with_one_counter_both_stand(tmp_path):
    store = Store(tmp_path)
    append_head(store, "x", {"v": 1})
    (key,) = store.list("x/heads")
    later = key.replace("-0", "-7", 1)
    store.create(later, Head(payload={"v": 2}).to_bytes())
    assert current_head(store, "x") == {"v": 2}
    append_head(store, "x", {"v": 3})
    assert [entry.payload["v"] for entry in list_heads(store, "x")] == [1, 2, 3]


@pytest.mark.parametrize("url", ["memory", "s3"])
def test_datasets_live_on_object_stores_too(request, url):
    if url == "s3":
        server = request.getfixturevalue("moto")
        store = Store(f"s3://{server.bucket}/datasets-test", options=server.options)
    else:
        store = Store("memory://datasets-test")
    client = DatasetClient(store)
    table = pa.table({"a": list(range(70_000)), "b": ["x" * 30] * 70_000})
    ref = client.upload("d", table)
    assert client.upload("d", table) == ref
    assert client.read(ref).equals(table)
    assert [part.rows for part in resolve_revision(store, ref).parts] == [65_536, 4464]


def test_inputs_may_be_urls(client):
    from pipeline.store.object_backend import open_filesystem

    files, _ = open_filesystem("memory://inputs", {})
    files.pipe_file("/inputs/a.csv", b"a,b\n1,x\n2,y\n")
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [3], "b": ["z"]}), sink)
    files.pipe_file("/inputs/b.parquet", sink.getvalue().to_pybytes())
    ref = client.upload("d", ["memory://inputs/a.csv", "memory://inputs/b.parquet"])
    assert client.read(ref)["a"].to_pylist() == [1, 2, 3]
    pinned = client.upload("p", "memory://inputs/b.parquet", pin=True)
    assert client.read(pinned).to_pylist() == [{"a": 3, "b": "z"}]


STREAM = """
    import re, sys
    from pipeline.store import DatasetClient
    def peak_mib():  # of this program; ru_maxrss would begin with the peak of the one that started it
        return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10
    DatasetClient(sys.argv[1]).upload("small", sys.argv[2])
    before = peak_mib()
    ref = DatasetClient(sys.argv[1]).upload("large", sys.argv[3])
    print(ref.revision_id, peak_mib() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_file_of_600_mb_is_streamed_in_bounded_memory(tmp_path, suffix):
    small, large = tmp_path / f"s.{suffix}", tmp_path / f"l.{suffix}"
    n_rows = 800_000
    numbers = pa.array(range(n_rows))
    text = pc.binary_join_element_wise(pc.cast(numbers, pa.string()), pa.scalar("x" * 760), "-")
    table = pa.table({"id": numbers, "text": text, "score": pc.divide(pc.cast(numbers, pa.float64()), 7.0)})
    for path, rows in ((small, table.slice(0, 1000)), (large, table)):
        if suffix == "parquet":
            pq.write_table(rows, path, compression="none", use_dictionary=False, row_group_size=n_rows)
        elif suffix == "csv":
            pl.DataFrame(rows).write_csv(path)
        else:
            pl.DataFrame(rows).write_ndjson(path)
    assert large.stat().st_size > 580 << 20
    command = [sys.executable, "-c", textwrap.dedent(STREAM), str(tmp_path / "store"), str(small), str(large)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    revision, grown_mib = done.stdout.split()
    # A part of 65,536 rows is 50 MiB and is held about twice; the rest is what the allocator keeps.
    assert int(grown_mib) < 420
    assert DatasetClient(tmp_path / "store").read(revision).equals(table)
