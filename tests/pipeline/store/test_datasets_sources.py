"""All other forms of data: rows, columns, frames, JSON Lines, several files; and what is refused."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import DatasetError, InputError
from pipeline.store.sources import SourceOptions, cut_parts, open_source
from pipeline.store.sources.column_types import parse_column_types


def read(data: object, types: dict[str, object] | None = None) -> pa.Table:
    source = open_source(data, options=SourceOptions(parse_column_types(types)))
    return pa.concat_tables([source.schema.empty_table(), *source.tables()])


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_rows_have_the_columns_of_all_rows():
    table = read([{"a": 1}, {"a": None, "late": "x"}, {"a": 2.5}])
    assert table.schema == pa.schema([("a", pa.float64()), ("late", pa.string())])
    assert table.to_pylist() == [{"a": 1.0, "late": None}, {"a": None, "late": "x"}, {"a": 2.5, "late": None}]


def test_types_of_rows_are_found_over_all_blocks():
    rows = [{"a": 1}] * 20_000 + [{"a": 0.5, "b": {"x": [1]}}, {"b": {"y": "z"}}]
    table = read(rows)
    assert table.schema.field("a").type == pa.float64()
    assert table.to_pylist()[-2:] == [{"a": 0.5, "b": {"x": [1], "y": None}}, {"a": None, "b": {"x": None, "y": "z"}}]


def test_whole_numbers_that_a_float_rounds_still_mix_with_floats():
    assert read([{"a": 2**60 + 1}, {"a": 0.5}])["a"].to_pylist() == [float(2**60), 0.5]


@pytest.mark.parametrize(
    "rows, message",
    [
        ([{"a": 1}, {"a": "x"}], "row 1: column 'a' mixes types: string here, int64 before"),
        ([{"a": True}, {"a": 1}], "row 1: column 'a' mixes types: int64 here, bool before"),
        ([{"a": "x"}, {"a": b"x"}], "row 1: column 'a' mixes types: binary here, string before"),
        ([{"a": {"q": 1}}, {}, {"a": {"q": "s"}}], "row 2: column 'a.q' mixes types: string here, int64 before"),
        ([{"a": [1]}, {"a": [1, "x"]}], "row 1: column 'a[]' mixes types"),
        ([{"a": datetime.date(2020, 1, 1)}, {"a": datetime.datetime(2020, 1, 1)}], "row 1: column 'a' mixes types"),
        ([{"a": 1}] * 9000 + [{"a": "x"}], "row 9000: column 'a' mixes types"),
        ([{"a": 1}, {"a": 2**63}], "row 1: column 'a' has a value that cannot be stored as int64"),
        ([{"a": object()}], "row 0: column 'a' has a value that cannot be stored"),
        ([{"a": "\ud800"}], "row 0: column 'a' has a value that cannot be stored as string"),
        ([{"a": 1, 2: 3}], "the column name 2 is no text"),
        ([{"a": {}}], "column 'a' is struct<>, which Parquet cannot hold"),
        ([{}], "the rows: has no columns"),
        ([{"": 1}], "column 1 of 1 has an empty name"),
        ([], "no files and no rows"),
        (set(), "no files and no rows"),
        ({}, "has no columns"),
        ({"a": [1, 2], "b": [1]}, "the columns differ in their number of values ('a' 2, 'b' 1)"),
        ({"a": "abc"}, "column 'a' is a str, expected a sequence"),
        ({"a": [1, "x"]}, "row 1: column 'a' mixes types"),
        ({1: [1]}, "the column name 1 is no text"),
    ],
)
def test_rows_and_columns_that_cannot_be_stored_are_named(rows, message):
    with pytest.raises(DatasetError, match=re.escape(message)):
        read(rows)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"abc", "data is a bytes"),
        (3, "data is a int"),
        ([1, 2], "data holds int values"),
        (({"a": 1} for _ in range(2)), "an iterator of rows, which can be read only once"),
        ([{"a": 1}, 3], "row 1 is a int, expected a mapping"),
        (["x.csv", 3], "item 1 is a int, but those before are paths"),
        (pa.array([1]), "one column without a name"),
        (pa.chunked_array([[1]]), "one column without a name"),
        (pl.Series([1]), "one column without a name"),
        (pd.Series([1]), "one column without a name"),
        (pl.LazyFrame({"a": [1]}), "call .collect() first"),
    ],
)
def test_what_is_no_table_is_a_type_error(tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(write(tmp_path / "x.csv", "a\n1\n").parent)
    with pytest.raises(TypeError, match=re.escape(message)):
        read(data)


def test_given_types_hold_for_rows_and_columns():
    assert read([{"a": 1}, {"a": {"k": [1]}}], {"a": "string"})["a"].to_pylist() == ["1", '{"k":[1]}']
    assert read([{"a": "2020-01-02"}], {"a": "date"})["a"].to_pylist() == [datetime.date(2020, 1, 2)]
    assert read({"a": [1, 2]}, {"a": "string"})["a"].to_pylist() == ["1", "2"]
    assert read({"a": np.array([1, 2])}, {"a": "float64"})["a"].to_pylist() == [1.0, 2.0]


def test_given_types_are_refused_where_the_data_has_types():
    with pytest.raises(InputError, match="cast the Table instead"):
        read(pa.table({"a": [1]}), {"a": "string"})


def test_a_mapping_takes_columns_of_any_library():
    columns = {
        "a": np.array([1, 2]),
        "b": pl.Series(["x", "y"]),
        "c": pd.Series([1.5, 2.0]),
        "d": (1, 2.5),
        "e": range(2),
    }
    assert read(columns).to_pylist() == [
        {"a": 1, "b": "x", "c": 1.5, "d": 1.0, "e": 0},
        {"a": 2, "b": "y", "c": 2.0, "d": 2.5, "e": 1},
    ]


def test_an_empty_column_has_type_null():
    assert read({"a": []}).schema == pa.schema([("a", pa.null())])


ROWS = [{"a": 1, "b": "x"}, {"a": None, "b": None}]
TABLE = pa.Table.from_pylist(ROWS)


class OnlyInterchange:
    """A dataframe of a library that has nothing but the interchange protocol."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        return TABLE.__dataframe__(nan_as_null, allow_copy)


class OnlyToArrow:
    def to_arrow(self) -> pa.RecordBatch:
        return TABLE.to_batches()[0]


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_batches()[0],
        pl.DataFrame(ROWS),
        pd.DataFrame(ROWS).convert_dtypes(),
        OnlyInterchange(),
        OnlyToArrow(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_every_kind_of_frame_gives_the_same_rows(data):
    assert read(data).to_pylist() == ROWS


def test_a_duckdb_relation_and_an_arrow_reader_are_streamed():
    connection = duckdb.connect()
    assert read(connection.sql("select 1 as a, 'x' as b")).to_pylist() == ROWS[:1]
    assert read(TABLE.to_reader()).to_pylist() == ROWS


def test_a_pandas_index_is_a_column_only_where_it_has_a_name():
    frame = pd.DataFrame({"a": [1, 2]}, index=[7, 8])
    assert read(frame).column_names == ["a"]
    assert read(frame.rename_axis("id")).to_pylist() == [{"a": 1, "id": 7}, {"a": 2, "id": 8}]


def test_categories_and_views_are_stored_as_plain_values():
    frame = pl.DataFrame({"c": pl.Series(["u", "v", "u"], dtype=pl.Categorical)})
    assert read(frame).schema.field("c").type == pa.large_string()
    views = pa.table({"c": pa.array(["u", "v"], pa.string_view()), "d": pa.array(["u", "u"]).dictionary_encode()})
    assert read(views).schema.types == [pa.string(), pa.string()]
    assert read(views).to_pylist() == [{"c": "u", "d": "u"}, {"c": "v", "d": "u"}]


@pytest.mark.parametrize(
    "data, message",
    [
        (pa.table([[1], [2]], names=["a", "a"]), "columns 1 and 2 are both named 'a'"),
        (pa.table({" ": [1]}), "column 1 of 1 has an empty name"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Duplicate column names"),
        (pd.DataFrame({"a": [1, "x"]}), "cannot be converted to an Arrow table"),
        (pa.table({"a": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}), "which Parquet cannot hold"),
    ],
)
def test_frames_that_cannot_be_stored_are_named(data, message):
    with pytest.raises(DatasetError, match=re.escape(message)):
        read(data)


def test_json_lines_are_typed_over_all_lines(tmp_path):
    path = write(
        tmp_path / "d.jsonl", b'\xef\xbb\xbf{"a":1,"b":{"x":1}}\n\n{"a":2.5,"b":{"y":[1,0.5]},"c":"z"}\n{"a":NaN}'
    )
    table = read(path)
    assert str(table.schema.field("b").type) == "struct<x: int64, y: list<element: double>>"
    assert table.to_pylist()[1] == {"a": 2.5, "b": {"x": None, "y": [1.0, 0.5]}, "c": "z"}
    assert np.isnan(table["a"][2].as_py())


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_json_lines_asked_for_as_text_give_the_text_of_each_value(tmp_path, kind):
    written = ["1", "1.0", "1.50", "1e3", "-0", "1" * 30, "1E400", "NaN", "true", "[1, 2.0]", '{"x": 1}']
    lines = [*(f'{{"a": {text}, "b": 1}}' for text in written), '{"a": "007"}', '{"a": null}', '{"b": 2.5}']
    table = read(write(tmp_path / "x.jsonl", "\n".join(lines)), {"a": kind})
    assert table["a"].to_pylist() == [*written[:9], "[1,2.0]", '{"x":1}', "007", None, None]
    assert table.schema.field("b").type == pa.float64()


def test_numbers_in_rows_asked_for_as_text_are_json():
    values = [1, 1.5, float("nan"), 2**70, True, np.float32(0.5), None, "null", [1]]
    found = read([{"a": value} for value in values], {"a": "string"})["a"].to_pylist()
    assert found == ["1", "1.5", "NaN", str(2**70), "true", "0.5", None, "null", "[1]"]


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "d.jsonl: holds no rows"),
        ("\n \n", "d.jsonl: holds no rows"),
        ('{"a":1}\nnope\n', "d.jsonl:2: is not one JSON object"),
        ('{"a":1}\n\n{"a":', "d.jsonl:3: is not one JSON object"),
        ("[1]\n", "d.jsonl:1: holds a JSON list"),
        (b'{"a":1}\n{"a":"\xff"}\n', "d.jsonl:2: is not UTF-8 at byte 6 of the line"),
        ('{"a":1}\n\n{"a":"x"}', "d.jsonl:3: column 'a' mixes types: string here, int64 before"),
        ('{"":1}', "column 1 of 1 has an empty name"),
        ('{"a":' + "[" * 3000 + "]" * 3000 + "}", "d.jsonl:1: is not one JSON object"),
        ('{"a":18446744073709551615}', "d.jsonl:1: column 'a' has a value that cannot be stored as int64"),
    ],
)
def test_json_lines_that_cannot_be_read_are_named_with_their_line(tmp_path, content, message):
    with pytest.raises(DatasetError, match=re.escape(message)):
        read(write(tmp_path / "d.jsonl", content))


def parquet(path: Path, **columns: object) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_several_files_are_read_in_the_order_given(tmp_path):
    first, second = parquet(tmp_path / "2.parquet", a=[1, 2]), parquet(tmp_path / "1.PARQUET", a=[3])
    assert read([first, str(second)])["a"].to_pylist() == [1, 2, 3]
    assert read(path for path in (second, first))["a"].to_pylist() == [3, 1, 2]
    assert read({first, second})["a"].to_pylist() == [3, 1, 2]


def test_a_glob_names_its_files_in_order(tmp_path):
    parquet(tmp_path / "b.parquet", a=[2])
    parquet(tmp_path / "a.parquet", a=[1])
    assert read(f"{tmp_path}/*.parquet")["a"].to_pylist() == [1, 2]


def test_more_files_than_may_be_open_are_read(tmp_path):
    import resource

    for index in range(100):
        parquet(tmp_path / f"{index:03}.parquet", a=[index])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (80, hard))
    try:
        assert read(f"{tmp_path}/*.parquet")["a"].to_pylist() == list(range(100))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_files_of_several_kinds_go_together_where_their_columns_do(tmp_path):
    files = [write(tmp_path / "a.csv", "a,b\n1,x\n"), write(tmp_path / "b.jsonl", '{"a":2,"b":"y"}\n')]
    assert read([*files, parquet(tmp_path / "c.parquet", a=[3], b=["z"])])["a"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    "other, message",
    [
        (pa.table({"a": ["x"]}), "2.parquet: column 'a' is string, but int64 in"),
        (pa.table({"b": [1]}), "2.parquet: has the columns b, but"),
        (pa.table({"a": [1], "b": [1]}), "2.parquet: has the columns a, b, but"),
        (
            pa.table([[1]], schema=pa.schema([pa.field("a", pa.int64(), nullable=False)])),
            "2.parquet: column 'a' is int64 (never null), but int64 in",
        ),
    ],
)
def test_files_with_other_columns_are_refused(tmp_path, other, message):
    parquet(tmp_path / "1.parquet", a=[1])
    pq.write_table(other, tmp_path / "2.parquet")
    with pytest.raises(DatasetError, match=re.escape(message)):
        read([tmp_path / "1.parquet", tmp_path / "2.parquet"])


def test_parquet_that_is_cut_short_or_damaged_is_refused_by_name(tmp_path):
    path = parquet(tmp_path / "d.parquet", a=list(range(10_000)))
    whole = path.read_bytes()
    for content in (
        b"",
        whole[: len(whole) // 2],
        b"PAR1" + b"x" * 100 + b"PAR1",
        whole[:8] + b"\xff" * 2000 + whole[2008:],
    ):
        with pytest.raises(DatasetError, match=r"d\.parquet"):
            read(write(path, content))


@pytest.mark.parametrize(
    "name, message", [(".", "is a folder"), ("nope.csv", "no such file"), ("x.txt", "has the suffix '.txt'")]
)
def test_paths_that_are_no_data_are_refused(tmp_path, name, message):
    write(tmp_path / "x.txt", "a")
    with pytest.raises(DatasetError, match=re.escape(message)):
        read(tmp_path / name)


def test_a_blank_path_is_refused():
    with pytest.raises(DatasetError, match="is no path"):
        read("  ")


@settings(max_examples=100, deadline=None)
@given(
    cells=st.lists(st.none() | st.text(max_size=6), min_size=1, max_size=60),
    lists=st.lists(st.none() | st.lists(st.text(max_size=3), max_size=3), min_size=60, max_size=60),
    cuts=st.lists(st.integers(1, 9), min_size=1, max_size=60),
    rows=st.integers(1, 10),
    n_bytes=st.integers(1, 40),
)
def test_where_parts_are_cut_depends_on_the_rows_alone(cells, lists, cuts, rows, n_bytes):
    nested = [None if i % 7 == 0 else {"k": i} for i in range(len(cells))]
    table = pa.table(
        {
            "a": cells,
            "l": pa.array(lists[: len(cells)], pa.list_(pa.string())),
            "s": pa.array(nested, pa.struct([("k", pa.int32())])),
        }
    )
    pieces, start = [], 0
    while start < len(cells):
        pieces.append(table.slice(start, cuts[len(pieces) % len(cuts)]))
        start += pieces[-1].num_rows
    parts = list(cut_parts(pieces, rows=rows, n_bytes=n_bytes))
    assert [part.to_pylist() for part in parts] == [
        p.to_pylist() for p in cut_parts([table], rows=rows, n_bytes=n_bytes)
    ]
    assert pa.concat_tables(parts).to_pylist() == table.to_pylist()
    assert all(0 < part.num_rows <= rows for part in parts)


def test_parts_of_large_cells_are_cut_by_their_bytes():
    table = pa.table({"a": ["x" * 100] * 10 + ["y" * 1000, "z"]})
    assert [part.num_rows for part in cut_parts([table], rows=100, n_bytes=300)] == [3, 3, 3, 1, 1, 1]
