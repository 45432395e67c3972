import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.evaluation.partitions import check_partition_columns, rows_by_folder

SCHEMA = pa.schema([("family", pa.string()), ("level", pa.int64()), ("score", pa.float64()), ("n", pa.int64())])


def test_rows_go_to_the_folder_of_their_values_and_keep_their_order():
    rows = pa.table({"family": ["b", "a", "b"], "level": [1, 2, 1], "n": [0, 1, 2]})
    found = {piece.folder: piece.rows["n"].to_pylist() for piece in rows_by_folder(rows, ["family", "level"])}
    assert found == {"family=b/level=1": [0, 2], "family=a/level=2": [1]}


def test_without_partition_columns_there_is_one_folder():
    (piece,) = rows_by_folder(pa.table({"n": [1, 2]}), [])
    assert (piece.folder, piece.rows["n"].to_pylist()) == ("", [1, 2])


@pytest.mark.parametrize(
    "value, folder",
    [(None, "k=__HIVE_DEFAULT_PARTITION__"), ("../up", "k=..%2Fup"), ("..", "k=%2E%2E"), ("a=b", "k=a%3Db"),
     ("é", "k=%C3%A9"), ("", "k=")],
)  # fmt: skip
def test_no_value_can_leave_its_folder(value, folder):
    (piece,) = rows_by_folder(pa.table({"k": pa.array([value], pa.string())}), ["k"])
    assert piece.folder == folder


def test_a_columns_name_stays_readable_for_readers_that_do_not_decode_it():
    (piece,) = rows_by_folder(pa.table({"catégorie d'âge": ["x"]}), ["catégorie d'âge"])
    assert piece.folder == "catégorie d'âge=x"
    (piece,) = rows_by_folder(pa.table({"a/b=c": ["x"]}), ["a/b=c"])
    assert piece.folder == "a%2Fb%3Dc=x"


def test_dates_booleans_and_dictionaries_make_folders():
    rows = pa.table(
        {
            "d": [datetime.date(2026, 1, 2)],
            "b": [True],
            "c": pa.array(["x"]).dictionary_encode(),
        }
    )
    (piece,) = rows_by_folder(rows, ["d", "b", "c"])
    assert piece.folder == "d=2026-01-02/b=true/c=x"


def test_more_than_1024_partitions_are_refused():
    rows = pa.table({"n": list(range(1025))})
    with pytest.raises(InputError, match="more than 1024 partitions"):
        list(rows_by_folder(rows, ["n"]))


def test_a_value_too_long_for_a_folder_name_is_refused():
    with pytest.raises(InputError, match="too long to name a folder"):
        list(rows_by_folder(pa.table({"k": ["x" * 300]}), ["k"]))


@pytest.mark.parametrize(
    "columns, message",
    [(["famly"], "'famly', which the dataset does not have"), (["family", "family"], "twice"), (["score"], "double")],
)
def test_partition_columns_are_checked_before_any_work(columns, message):
    with pytest.raises(InputError, match=message):
        check_partition_columns(columns, SCHEMA)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=50))
def test_every_row_is_in_exactly_one_file(rows):
    table = pa.table({"k": [k for k, _ in rows], "v": [v for _, v in rows], "n": list(range(len(rows)))})
    seen = [n for piece in rows_by_folder(table, ["k", "v"]) for n in piece.rows["n"].to_pylist()]
    assert sorted(seen) == list(range(len(rows)))
