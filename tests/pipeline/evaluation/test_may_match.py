"""Pruning never changes an answer: what bounds rule out, the database does not select."""

from __future__ import annotations

import io
import itertools
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.evaluation.bounds import Bounds, folder_bounds, group_bounds
from pipeline.evaluation.may_match import May, may_be
from pipeline.evaluation.partitions import rows_by_folder
from scorers._sql_condition import _with_names
from scorers._sql_gate import TABLE, admit

SCHEMA = pa.schema(
    {
        "i": pa.int64(), "u": pa.uint64(), "small": pa.int8(), "f": pa.float64(), "half": pa.float32(),
        "s": pa.string(), "t": pa.large_string(), "b": pa.bool_(), "d": pa.date32(), "e": pa.decimal128(9, 2),
        "moment": pa.timestamp("us"), "n": pa.struct({"i": pa.int64(), "s": pa.string()}), "l": pa.list_(pa.int64()),
        "raw": pa.binary(),
    }
)  # fmt: skip

CONNECTION = duckdb.connect()


def parsed(condition: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    admitted = admit(CONNECTION, condition, SCHEMA.names)
    return _with_names(admitted.tree, SCHEMA.names), admitted.columns


FLOATS = [0.0, -0.0, 0.1, 0.30000000000000004, 1.0, 2.5, -3.0, 1e300, float("inf"), -float("inf"), float("nan")]
WHOLE = [0, 1, 2, 3, -1, 5, 127, 2**53, 2**53 + 1, 2**63 - 1]
TEXTS = ["", "a", "b", "ab", "é", "z", "Z", "1", "01", "2024-01-02", "true", "\U0001f600", "\uffff", "a" * 5000]
DAYS = [date(2024, 1, 1), date(2024, 1, 2), date(1969, 12, 31), date(1, 1, 1)]
VALUES: dict[str, list[Any]] = {
    "i": [*WHOLE, -(2**63)], "u": [*[w for w in WHOLE if w >= 0], 2**64 - 1], "small": [w for w in WHOLE if w < 128],
    "f": FLOATS, "half": FLOATS, "s": TEXTS, "t": TEXTS, "b": [True, False], "d": DAYS,
    "e": [Decimal("0.10"), Decimal("1.00"), Decimal("-2.50")],
    "moment": [datetime(2024, 1, 1), datetime(2024, 1, 1, 5)],
    "n": [{"i": 1, "s": None}, {"i": None, "s": "x"}], "l": [[], [1], [None]], "raw": [b"", b"a"],
}  # fmt: skip
LITERALS = [
    "0", "1", "2", "-1", "127", "128", "9007199254740993", "9223372036854775807", "18446744073709551615", "1e0", "2.5",
    "0.1", "0.30000000000000004", "1.0", "9007199254740993.0", "-0.0", "1e300", "5e-324", "''", "'a'", "'ab'", "'é'",
    "'z'", "'1'", "'01'", "'2024-01-02'", "'2024-1-2'", "DATE '2024-01-01'", "CAST('2024-01-02' AS DATE)", "true",
    "false", "NULL", "'\U0001f600'", "'nan'", "'inf'", "TIMESTAMP '2024-01-01'",
    "170141183460469231731687303715884105727",
]  # fmt: skip
NUMBERS = ["0", "1", "2", "-1", "127", "9007199254740993", "2.5", "0.1", "1.0", "-3.0", "0.30000000000000004", "1e300"]
DATES = ["'2024-01-01'", "'2024-01-02'", "DATE '2024-01-01'", "CAST('1969-12-31' AS DATE)", "'0001-01-01'"]
WORDS = ["''", "'a'", "'ab'", "'b'", "'é'", "'z'", "'1'", "'2024-01-02'", "'\U0001f600'"]
FITTING = {"i": NUMBERS, "u": NUMBERS, "small": NUMBERS, "f": NUMBERS, "s": WORDS, "t": WORDS, "d": DATES,
           "b": ["true", "false"]}  # fmt: skip
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]
COMPARISON = st.sampled_from(OPERATORS)
SHAPES = ["{c} {o} {x}", "{x} {o} {c}", "{c} BETWEEN {x} AND {y}", "{c} IN ({x}, {y})", "{c} NOT IN ({x}, {y})",
          "{c} IS NULL", "{c} IS NOT NULL", "{c} IS DISTINCT FROM {x}"]  # fmt: skip


@st.composite
def leaves(draw: st.DrawFn) -> str:
    """A comparison, mostly of a column with what fits its type."""
    fits = draw(st.integers(0, 5)) > 0
    column = draw(st.sampled_from(sorted(FITTING) if fits else [*SCHEMA.names, "n.i", "lower(s)"]))
    value = st.sampled_from(FITTING[column] if fits else LITERALS)
    shape = draw(st.sampled_from(SHAPES))
    return shape.format(c=column, o=draw(COMPARISON), x=draw(value), y=draw(value))


LEAVES = st.one_of(leaves(), leaves(), leaves(), st.just("b"))
CONDITIONS = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.builds("NOT ({})".format, below),
        st.builds("({}) AND ({})".format, below, below),
        st.builds("({}) OR ({})".format, below, below),
        st.builds("CASE WHEN {} THEN {} ELSE b END".format, below, below),
    ),
    max_leaves=4,
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[pa.Table, str]:
    """A condition, and rows with values in the columns that it reads."""
    condition = draw(CONDITIONS)
    words = set(re.findall(r"\w+", condition))
    n_rows = draw(st.integers(1, 12))
    columns = []
    for name in SCHEMA.names:
        # Few values a table, so that groups of one value, and of nulls alone, come up.
        some = st.lists(st.sampled_from([None, *VALUES[name], None, *VALUES[name][-1:]]), min_size=1, max_size=3)
        few = [*draw(some), *draw(st.sampled_from([[], [None]]))] if name in words else [None]
        columns.append(draw(st.lists(st.sampled_from(few), min_size=n_rows, max_size=n_rows)))
    return pa.table(columns, schema=SCHEMA), condition


def selected(condition: str, rows: pa.Table) -> list[bool]:
    CONNECTION.register(TABLE, rows)
    found = CONNECTION.sql(f"SELECT TRY({condition}) IS TRUE AS v FROM {TABLE}").fetchall()
    CONNECTION.unregister(TABLE)
    return [value for (value,) in found]


def written(rows: pa.Table, group_rows: int) -> pq.FileMetaData:
    sink = io.BytesIO()
    pq.write_table(rows, sink, row_group_size=group_rows)
    return pq.ParquetFile(sink).metadata


def check_sound(rows: pa.Table, condition: str, metadata: pq.FileMetaData | None = None, group_rows: int = 3) -> int:
    """Compare what is ruled out with what the database selects; the number of groups that were ruled out."""
    try:
        tree, read = parsed(condition)
        hits = selected(condition, rows)
    except (ValueError, duckdb.Error):
        return 0  # refused before any row is read, as types that cannot be compared are
    metadata = metadata or written(rows, group_rows)
    ruled_out = 0
    for group in range(metadata.num_row_groups):
        may = may_be(tree, group_bounds(metadata, group, SCHEMA, read))
        first = group_rows * group
        found = hits[first : first + group_rows]
        assert may.be_true or not any(found), (condition, rows.slice(first, group_rows).select(list(read)).to_pylist())
        ruled_out += not may.be_true
    return ruled_out


@pytest.mark.parametrize("column", sorted(FITTING))
def test_every_comparison_with_every_pair_of_values_is_sound(column: str) -> None:
    position = SCHEMA.names.index(column)
    pairs = list(itertools.combinations_with_replacement([None, *VALUES[column]], 2))
    values = pa.array([value for pair in pairs for value in pair], SCHEMA.field(position).type)
    others = [pa.nulls(len(values), kind) for kind in SCHEMA.types]
    table = pa.table([*others[:position], values, *others[position + 1 :]], schema=SCHEMA)
    metadata = written(table, 2)  # one row group for each pair
    ruled_out = 0
    for operator, literal, template in itertools.product(OPERATORS, FITTING[column], ["{}", "NOT ({})"]):
        ruled_out += check_sound(table, template.format(f"{column} {operator} {literal}"), metadata, 2)
    for condition in (f"{column} IS NULL", f"{column} IS NOT NULL"):
        ruled_out += check_sound(table, condition, metadata, 2)
    assert ruled_out > len(pairs)


@settings(max_examples=100)
@given(cases())
def test_what_statistics_rule_out_is_not_selected(case: tuple[pa.Table, str]) -> None:
    check_sound(*case)


@pytest.mark.slow
@settings(max_examples=5_000)
@given(cases())
def test_what_statistics_rule_out_is_not_selected_at_length(case: tuple[pa.Table, str]) -> None:
    check_sound(*case)


@settings(max_examples=40)
@given(cases(), st.lists(st.sampled_from(["i", "s", "t", "b", "d", "small"]), unique=True, min_size=1))
def test_what_folders_rule_out_is_not_selected(case: tuple[pa.Table, str], partition_by: list[str]) -> None:
    rows, condition = case
    for name in ("s", "t"):  # longer texts name no folder
        rows = rows.filter([len(value or "") < 100 for value in rows[name].to_pylist()])
    try:
        tree, _ = parsed(condition)
        selected(condition, rows)
    except (ValueError, duckdb.Error):
        return
    for folder, members in rows_by_folder(rows, partition_by):
        may = may_be(tree, folder_bounds(f"data/{folder}/0.parquet", partition_by, SCHEMA))
        assert may.be_true or not any(selected(condition, members)), (condition, folder)


WIDE = {"i": Bounds(int, 10, 20, has_nulls=False), "f": Bounds(float, 1.0, 2.0), "s": Bounds(str, "b", "d"),
        "d": Bounds(date, date(2024, 1, 2), date(2024, 1, 4)), "b": Bounds(bool, True, True, has_nulls=False),
        "small": Bounds(int, has_values=False)}  # fmt: skip


@pytest.mark.parametrize(
    "condition",
    [
        "i = 9", "21 = i", "i < 10", "i <= 9", "i > 20", "i >= 21", "i BETWEEN 21 AND 30", "i BETWEEN 1 AND 9",
        "i IN (1, 2, 21)", "i IS NULL", "NOT (i IS NOT NULL)", "NOT (i > 5)", "NOT (i <> 9)", "i = 9.5", "i > 20.5",
        "i = 9 AND lower(s) = 'b'", "i = 9 OR s = 'a'", "NOT (i >= 10 OR lower(s) = 'b')", "s < 'b'", "s = 'da'",
        "d = '2024-01-01'", "d > DATE '2024-01-04'", "f < 1", "f = 2.5", "NOT b", "b = false", "small = 1",
        "small <> 1", "small IS NOT NULL", "NOT (small = 1)",
    ],
)  # fmt: skip
def test_what_bounds_can_rule_out_is_ruled_out(condition: str) -> None:
    assert not may_be(parsed(condition)[0], WIDE).be_true


@pytest.mark.parametrize(
    "condition",
    [
        "i = 10", "i <> 10", "NOT (i = 10)", "i = 9 OR lower(s) = 'b'", "NOT (i >= 10 AND s = 'c')",
        "f > 2", "f <> 1", "NOT (f <= 2)", "s = 9",
        "i = '9'", "d = '2024-1-1'", "half = 9", "e = 9", "n.i = 9", "moment < '0001-01-01'", "small IS NULL",
        "i IS DISTINCT FROM 10", "i + 0 = 9", "i IN (9, NULL)", "s NOT IN ('b')", "TRY_CAST(s AS DATE) = d",
    ],
)  # fmt: skip
def test_what_may_be_or_is_not_understood_is_read(condition: str) -> None:
    assert may_be(parsed(condition)[0], WIDE).be_true


def test_nan_is_in_no_statistics_and_is_found_all_the_same() -> None:
    rows = pa.table({name: pa.nulls(3, kind) for name, kind in zip(SCHEMA.names, SCHEMA.types, strict=True)})
    rows = rows.set_column(SCHEMA.names.index("f"), "f", [[1.0, 2.0, float("nan")]])
    assert selected("f > 5", rows) == [False, False, True]
    assert check_sound(rows, "f > 5") == 0
    assert check_sound(rows, "f < 1") == 1


def test_a_nested_column_says_nothing_of_a_plain_one_of_its_name() -> None:
    schema = pa.schema({"a": pa.struct({"b": pa.int64()}), "a.b": pa.int64(), "c": pa.int64()})
    sink = io.BytesIO()
    pq.write_table(pa.table([[{"b": 1}], [5], [7]], schema=schema), sink)
    found = group_bounds(pq.ParquetFile(sink).metadata, 0, schema, schema.names)
    assert {name: bounds.least for name, bounds in found.items()} == {"a.b": 5, "c": 7}


def test_files_without_statistics_rule_nothing_out() -> None:
    schema = pa.schema({"a": pa.int64()})
    sink = io.BytesIO()
    pq.write_table(pa.table([[1]], schema=schema), sink, write_statistics=False)
    assert group_bounds(pq.ParquetFile(sink).metadata, 0, schema, ["a"]).get("a", Bounds(int))[1:] == (
        None, None, True, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "folder, found",
    [
        ("s=a%2Fb", ("a/b", "a/b", True, False)),
        ("s=__HIVE_DEFAULT_PARTITION__", (None, None, False, True)),
        ("s=%5F%5FHIVE%5FDEFAULT%5FPARTITION%5F%5F", ("__HIVE_DEFAULT_PARTITION__",) * 2 + (True, False)),
        ("i=007", None),
        ("i=-7", (-7, -7, True, False)),
        ("d=2024-01-02", (date(2024, 1, 2), date(2024, 1, 2), True, False)),
        ("b=false", (False, False, True, False)),
    ],
)
def test_a_folder_says_what_its_column_is(folder: str, found: tuple[Any, ...] | None) -> None:
    name = folder.partition("=")[0]
    bounds = folder_bounds(f"runs/x/data/{folder}/0.parquet", [name], SCHEMA).get(name)
    assert (None if bounds is None else bounds[1:]) == found


def test_a_condition_that_is_not_understood_may_be_anything() -> None:
    assert may_be(parsed("length(s) > 3")[0], WIDE) == May(True, True)
