"""Scoring tables: any type of column, any cut into batches, and always the same columns."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scorers
from scorers import ScoreColumns
from scorers._builtin import _KEPT
from scorers.base import TEXT_TYPE, VALUE_TYPE

SCORERS = [
    scorers.exact_match(case_insensitive=True),
    scorers.exact_match(normalize_whitespace=True),
    scorers.contains(mode="fraction", case_insensitive=True),
    scorers.contains(mode="any"),
    scorers.regex_match(r"(?P<digits>\d+)|(?P<rest>[a-z]+)"),
    scorers.levenshtein(),
    *(
        scorers.string_similarity(method)
        for method in ("jaro_winkler", "token_set", "token_sort", "partial", "sequence")
    ),
    scorers.string_similarity("jaccard"),
    scorers.string_similarity("jaccard", unit="char"),
    scorers.json_valid(),
    scorers.json_match(),
    scorers.json_match(paths=["a", "0", "a.b"]),
    scorers.numeric_close(),
    scorers.numeric_close(tolerance=0.5, relative=True),
]
NOTABLE = """
 |a|A b|straße|STRASSE|1|1.5| 2e3 |nan|1_0|[1|\x1c\x85|{}|[true]|["a", 1.50, null, ""]|{"a": 1}|{"a": {"b": 1}}
[10, 20]|["é\\ud800"]|999999999999999999999999|日本 語|"\\"\x7f"""
TEXTS = (
    st.none()
    | st.sampled_from(["", *NOTABLE.replace("\n", "|").split("|")])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
)
ROWS = st.lists(st.tuples(TEXTS, TEXTS), max_size=12)


def joined(parts: list[ScoreColumns]) -> list[list[Any]]:
    return [[x for part in parts for x in getattr(part, name).to_pylist()] for name in ("value", "error", "metadata")]


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: f"{scorer.builtin} {scorer.options}")
@given(rows=ROWS, cuts=st.lists(st.integers(0, 12)))
@settings(deadline=None)  # time differs on a busy machine
def test_cutting_a_table_never_changes_a_result(scorer: Any, rows: list[tuple[Any, Any]], cuts: list[int]) -> None:
    columns = [pa.array(side, pa.string()) for side in zip(*rows, strict=True)] or [pa.array([], pa.string())] * 2
    table = pa.table(columns, names=["output", "expected"])
    edges = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    batches = [table.slice(start, end - start) for start, end in itertools.pairwise(edges)]
    whole = scorer.score(table)
    assert joined([whole]) == joined([scorer.score(batch) for batch in batches])
    if batches:
        assert joined([whole]) == joined([scorer.score(pa.concat_tables(batches))])
    check_columns(whole, len(rows))


def check_columns(found: ScoreColumns, n_rows: int) -> None:
    assert (found.value.type, found.error.type, found.metadata.type) == (VALUE_TYPE, TEXT_TYPE, TEXT_TYPE)
    assert len(found.value) == len(found.error) == len(found.metadata) == n_rows
    assert found.error.null_count == n_rows
    assert found.value.null_count == 0
    for text in found.metadata.to_pylist():
        # The same text as an EvaluationScorerResult has on the wire.
        assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


COLUMNS = {
    "text": pa.array(["1", None, "x"]),
    "large text": pa.array(["1", None, "x"], pa.large_string()),
    "views": pa.array(["1", None, "x"], pa.string_view()),
    "dictionary": pa.array(["1", None, "x"]).dictionary_encode(),
    "int": pa.array([1, None, 2**62]),
    "uint64": pa.array([1, None, 2**64 - 1], pa.uint64()),
    "float": pa.array([1.0, None, float("nan")]),
    "half": pa.array([1.0, None, float("inf")], pa.float16()),
    "bool": pa.array([True, None, False]),
    "binary": pa.array([b"1", None, b"\xff"]),
    "null": pa.nulls(3),
    "timestamp": pa.array([0, None, 1], pa.timestamp("ns")),
    "list": pa.array([[1], None, []]),
    "struct": pa.array([{"a": 1}, None, {"a": None}]),
}


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: f"{scorer.builtin} {scorer.options}")
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_any_type_is_scored_by_its_text(scorer: Any, kind: str) -> None:
    texts = ["" if value is None else str(value) for value in COLUMNS[kind].to_pylist()]
    if kind == "timestamp":
        texts = ["1970-01-01 00:00:00", "", "1970-01-01 00:00:00"]
    for other in (texts, ["1", "", "x"]):
        by_value = scorer.score(pa.table({"output": COLUMNS[kind], "expected": other}))
        assert joined([by_value]) == joined([scorer.score(pa.table({"output": texts, "expected": other}))])
    empty = scorer.score(pa.table({"output": COLUMNS[kind], "expected": texts}).slice(0, 0))
    check_columns(empty, 0)


def test_other_columns_are_not_looked_at() -> None:
    table = pa.table({"x": [object.__name__], "expected": ["a"], "output": ["a"]})
    assert scorers.exact_match().score(table).value.to_pylist() == [1.0]


def test_a_very_long_array_of_needles_fails_no_row() -> None:
    deep = "[" * 2000 + "]" * 2000
    found = scorers.contains().score(pa.table({"output": [deep, deep], "expected": [deep, "[" * 100_000]}))
    assert found.value.to_pylist() == [1.0, 0.0]
    assert json.loads(found.metadata[0].as_py()) == {"matched": [deep], "missing": []}


def test_needles_hold_integers_of_any_length_and_lone_surrogates() -> None:
    digits = "7" * 5000
    wanted = f'[{digits}, [1, {{"n": -{digits}}}], "\\ud800"]'
    found = scorers.contains(mode="fraction").score(
        pa.table({"output": [f'{digits} [1,{{"n":-{digits}}}]'], "expected": [wanted]})
    )
    assert found.value.to_pylist() == [2 / 3]
    assert json.loads(found.metadata[0].as_py())["missing"] == ["\ud800"]


@pytest.mark.parametrize("path, agrees", [("-0", True), ("007", True), ("-", False), ("²", False), ("9" * 5000, False)])
def test_an_index_is_an_optional_minus_and_decimal_digits(path: str, agrees: bool) -> None:
    items = json.dumps(list(range(10)))
    found = scorers.json_match(paths=[path]).score(pa.table({"output": [items], "expected": [items]}))
    assert found.value.to_pylist() == [float(agrees)]


def test_a_column_that_is_no_json_is_named() -> None:
    found = scorers.json_match(inputs=["a", "b c"]).score(pa.table({"a": ["{}"], "b c": ["{"]}))
    assert found.metadata.to_pylist() == ['{"error":"b c: expected a key in double quotes at line 1 column 2"}']


def test_a_side_that_is_no_number_is_named_with_its_text() -> None:
    found = scorers.numeric_close().score(pa.table({"output": ["x", "1", "5%"], "expected": ["y", "é", "1"]}))
    assert [json.loads(text)["error"] for text in found.metadata.to_pylist()] == [
        "output: not a finite number: x",
        "expected: not a finite number: é",
        "output: not a finite number: 5%",
    ]


def test_infinite_differences_follow_the_table_of_tolerances() -> None:
    rows = pa.table({"output": ["1e308"], "expected": ["-1e308"]})
    found = [
        scorers.numeric_close(tolerance=t, relative=r).score(rows) for t, r in [(None, False), (1, False), (2, True)]
    ]
    assert [columns.value.to_pylist() for columns in found] == [[0.0], [0.0], [1.0]]
    assert {columns.metadata[0].as_py() for columns in found} == {'{"difference":null}'}


def test_texts_that_are_kept_for_the_next_scorer_are_those_of_its_table() -> None:
    first = pa.table({"output": [" a "], "expected": ["a"]})
    second = pa.table({"output": ["b"], "expected": ["a"]})
    tables = [first, second, first.slice(0), second, first]
    assert [scorers.exact_match().score(table).value[0].as_py() for table in tables] == [1.0, 0.0, 1.0, 0.0, 1.0]
    scorers.levenshtein(case_insensitive=True).score(first)
    assert scorers.levenshtein(inputs=["expected", "output"]).score(first).value.to_pylist() == [1.0]


def test_texts_are_kept_no_longer_than_their_table() -> None:
    table = pa.table({"output": [" a "], "expected": ["a"]})
    scorers.exact_match().score(table)
    kept = _KEPT.texts_of(table)
    assert set(kept) == {"output", "expected"}
    del table
    assert kept == {}
