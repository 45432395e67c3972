from __future__ import annotations

import hashlib
import io
import itertools
import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import CorruptError, InputError
from pipeline.store import Store
from pipeline.store.parquet import ROWS_PER_GROUP, ParquetWriter, iterate_parquet, open_parquet, write_parquet

ROWS = 40_000
TABLE = pa.table(
    {
        "n": pa.array(range(ROWS), pa.int64()),
        "text": [None if i % 7 == 0 else f"row {i % 500}" for i in range(ROWS)],
        "list": [[i, i + 1] for i in range(ROWS)],
    }
)


def test_the_digest_and_size_are_those_of_the_file(tmp_path):
    written = write_parquet(TABLE, tmp_path / "a")
    data = (tmp_path / "a").read_bytes()
    assert written == (hashlib.sha256(data).hexdigest(), len(data), ROWS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "whole"
    write_parquet(TABLE, path)
    return path


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=8))
def test_how_rows_are_cut_into_tables_does_not_change_a_byte(whole, tmp_path_factory, cuts):
    borders = [0, *sorted(cuts), ROWS]
    pieces = [TABLE.slice(start, stop - start) for start, stop in itertools.pairwise(borders)]
    path = tmp_path_factory.mktemp("cut") / "file"
    write_parquet(pieces, path)
    assert path.read_bytes() == whole.read_bytes()


def test_a_file_reads_back_equal_and_in_bounded_pieces(whole):
    file = open_parquet(whole, "whole")
    assert file.metadata.num_row_groups == -(-ROWS // ROWS_PER_GROUP)
    pieces = list(iterate_parquet(file, "whole", batch_rows=1000))
    assert max(piece.num_rows for piece in pieces) <= 1000
    assert pa.concat_tables(pieces) == TABLE
    assert next(piece.column_names for piece in iterate_parquet(file, "whole", columns=["text"])) == ["text"]


def test_no_flipped_bit_is_read_as_another_value(whole):
    rng = random.Random(3)
    original = whole.read_bytes()
    n_silent = 0
    for _ in range(200):
        damaged = bytearray(original)
        damaged[rng.randrange(4, len(damaged) * 9 // 10)] ^= 1 << rng.randrange(8)
        try:
            found = pa.concat_tables(list(iterate_parquet(open_parquet(io.BytesIO(damaged), "x"), "x")))
        except (CorruptError, InputError):
            continue
        n_silent += found != TABLE
    assert n_silent == 0


@pytest.mark.parametrize("keep", [0, 3, 1000, 0.5, -1])
def test_a_file_that_was_cut_short_is_named(whole, tmp_path, keep):
    data = whole.read_bytes()
    (tmp_path / "cut").write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(InputError, match=r"cut\.parquet: not a whole Parquet file .*; write it again"):
        open_parquet(tmp_path / "cut", "cut.parquet")


def test_an_empty_table_keeps_its_columns(tmp_path):
    written = write_parquet(TABLE.slice(0, 0), tmp_path / "a")
    file = open_parquet(tmp_path / "a", "a")
    assert (written.rows, file.schema_arrow) == (0, TABLE.schema)
    assert write_parquet([], tmp_path / "b", TABLE.schema) == written


def test_bytes_so_far_grow_with_the_groups(tmp_path):
    writer = ParquetWriter(tmp_path / "a", TABLE.schema)
    writer.write(TABLE.slice(0, 10))
    few = writer.bytes_so_far
    writer.write(TABLE)
    assert writer.bytes_so_far > few + 1000
    assert writer.close().rows == ROWS + 10


def test_a_file_streams_from_an_object_store(whole, moto, tmp_path):
    store = Store(f"s3://{moto.bucket}/{tmp_path.name}", options=moto.options)
    store.put("x.parquet", whole)
    with store.open("x.parquet") as opened:
        assert pa.concat_tables(list(iterate_parquet(open_parquet(opened, "x"), "x"))) == TABLE
