"""Slices of a revision: the right rows, one schema, linear forward reading, and damage found by name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import CorruptError, DatasetError, MissingError
from pipeline.store import DatasetClient, RevisionReader, Store, parquet_cursor, resolve_revision
from pipeline.store.pinned import pin_files


def uneven(folder: Path) -> tuple[list[Path], pa.Table]:
    """Five files of uneven row groups, one of them empty, and all their rows."""
    tables, paths, first = [], [], 0
    for index, (rows, group) in enumerate([(100, 30), (1, 1), (0, 1), (250, 250), (70, 7)]):
        numbers = list(range(first, first + rows))
        table = pa.table({"n": pa.array(numbers, pa.int64()), "t": pa.array([f"t{n}" for n in numbers], pa.string())})
        path = folder / f"{index}.parquet"
        pq.write_table(table, path, row_group_size=group)
        tables.append(table)
        paths.append(path)
        first += rows
    return paths, pa.concat_tables(tables)


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, pa.Table]:
    paths, whole = uneven(tmp_path_factory.mktemp("pinned"))
    return pin_files(paths), whole


@settings(max_examples=150, deadline=None)
@given(
    slices=st.lists(st.tuples(st.integers(0, 421), st.integers(0, 421)), min_size=1, max_size=8),
    step=st.integers(1, 40),
)
def test_any_slices_in_any_order_are_the_right_rows(pinned, slices, step):
    revision, whole = pinned
    with pytest.MonkeyPatch.context() as patch, RevisionReader(None, revision) as reader:
        patch.setattr(parquet_cursor, "ROWS_PER_GROUP", step)
        for first, rows in slices:
            rows = min(rows, 421 - first)
            assert reader.read(first, rows).equals(whole.slice(first, rows))


def test_columns_are_read_in_the_order_asked_for(pinned):
    revision, whole = pinned
    with RevisionReader(None, revision, ["t", "n"]) as reader:
        assert reader.read(90, 30).equals(whole.select(["t", "n"]).slice(90, 30))
        assert reader.read(0, 0).schema.names == ["t", "n"]
    with RevisionReader(None, revision, ["n"]) as reader:
        assert reader.read(0, 421).schema == pa.schema([("n", pa.int64())])


def test_a_column_that_is_not_there_names_the_nearest(pinned):
    with pytest.raises(DatasetError, match="no column 'nn'; did you mean 'n'"):
        RevisionReader(None, pinned[0], ["nn"])


@pytest.mark.parametrize("first, rows", [(-1, 1), (0, 422), (421, 1), (0, -1)])
def test_rows_beyond_the_revision_are_refused(pinned, first, rows):
    with pytest.raises(ValueError, match="dataset of 421 rows"):
        RevisionReader(None, pinned[0]).read(first, rows)


def test_columns_whose_names_hold_dots_are_not_taken_for_nested_ones(tmp_path):
    table = pa.table({"a.b": [1], "a": [{"b": 2}]})
    pq.write_table(table, tmp_path / "d.parquet")
    for names in (["a.b"], ["a"], ["a", "a.b"]):
        assert RevisionReader(None, pin_files([tmp_path / "d.parquet"]), names).read(0, 1).equals(table.select(names))


def test_categories_of_several_files_come_as_one_plain_type(tmp_path):
    for index, values in enumerate((["x", "y"], ["z"])):
        table = pa.table({"c": pa.array(values).dictionary_encode(), "v": pa.array(values, pa.string_view())})
        pq.write_table(table, tmp_path / f"{index}.parquet")
    table = RevisionReader(None, pin_files([f"{tmp_path}/*.parquet"])).read(0, 3)
    assert table.schema == pa.schema([("c", pa.string()), ("v", pa.string())])
    assert table["c"].to_pylist() == ["x", "y", "z"]


def test_reading_forward_decodes_every_row_of_a_giant_row_group_once(tmp_path, monkeypatch):
    n_rows = 50_000
    pq.write_table(pa.table({"n": list(range(n_rows))}), tmp_path / "d.parquet", row_group_size=n_rows)
    decoded = []
    original = parquet_cursor.iterate_parquet

    def counting(*args: Any, **options: Any) -> Iterator[pa.Table]:
        for table in original(*args, **options):
            decoded.append(table.num_rows)
            yield table

    monkeypatch.setattr(parquet_cursor, "iterate_parquet", counting)
    with RevisionReader(None, pin_files([tmp_path / "d.parquet"])) as reader:
        for first in range(0, n_rows, 1000):
            assert reader.read(first, 1000)["n"].to_pylist() == list(range(first, first + 1000))
    assert sum(decoded) == n_rows


def test_row_groups_before_a_slice_are_not_decoded(tmp_path, monkeypatch):
    pq.write_table(pa.table({"n": list(range(10_000))}), tmp_path / "d.parquet", row_group_size=1000)
    groups = []
    original = parquet_cursor.iterate_parquet

    def recording(*args: Any, **options: Any) -> Iterator[pa.Table]:
        groups.append(options["first_group"])
        return original(*args, **options)

    monkeypatch.setattr(parquet_cursor, "iterate_parquet", recording)
    reader = RevisionReader(None, pin_files([tmp_path / "d.parquet"]))
    assert reader.read(9500, 2)["n"].to_pylist() == [9500, 9501]
    assert reader.read(2000, 2)["n"].to_pylist() == [2000, 2001]
    assert reader.read(2500, 2)["n"].to_pylist() == [2500, 2501]
    assert groups == [9, 2]


def test_wide_rows_are_read_a_few_at_a_time(tmp_path):
    rng = random.Random(1)
    table = pa.table({"b": [rng.randbytes(1 << 20) for _ in range(40)]})
    pq.write_table(table, tmp_path / "d.parquet", compression="none")
    assert parquet_cursor.rows_per_table(pq.ParquetFile(tmp_path / "d.parquet").metadata) <= 32


def test_a_file_is_digested_once_a_reader_and_a_change_after_that_is_found_by_a_new_one(tmp_path):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    revision = pin_files([path])
    assert RevisionReader(None, revision).read(1, 1)["a"].to_pylist() == [2]
    pq.write_table(pa.table({"a": [1, 2, 3, 4]}), path)
    with pytest.raises(CorruptError, match=r"d\.parquet: has changed since it was pinned") as raised:
        RevisionReader(None, revision).read(0, 1)
    assert raised.value.key == str(path)


def test_one_flipped_bit_of_a_stored_part_is_found_wherever_it_is(tmp_path):
    client = DatasetClient(tmp_path / "store")
    revision = resolve_revision(client.store, client.upload("d", {"a": list(range(500))}))
    (part,) = revision.parts
    path = client.store.local_path(part.path)
    whole = path.read_bytes()
    rng = random.Random(7)
    for _ in range(30):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(CorruptError):
            RevisionReader(client.store, revision).read(0, 500)
    path.unlink()
    with pytest.raises(MissingError, match="is gone"):
        RevisionReader(client.store, revision).read(0, 500)


def test_an_object_store_hands_out_checked_parts(tmp_path):
    store = Store("memory://reader-test")
    revision = resolve_revision(store, DatasetClient(store).upload("d", {"a": list(range(500))}))
    assert RevisionReader(store, revision).read(100, 3)["a"].to_pylist() == [100, 101, 102]
    store.write(revision.parts[0].path, b"other bytes")
    with pytest.raises(CorruptError, match="SHA-256"):
        RevisionReader(store, revision).read(0, 1)


def test_stored_parts_need_their_store(tmp_path):
    client = DatasetClient(tmp_path / "store")
    revision = resolve_revision(client.store, client.upload("d", {"a": [1]}))
    with pytest.raises(DatasetError, match="no store was given"):
        RevisionReader(None, revision).read(0, 1)
