"""SQL scorers as a user writes them: what an expression is, what it gives, what the errors say."""

from __future__ import annotations

import contextlib
import datetime
import pickle
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import scorers
from scorers._sql import SqlEvaluator, SqlExpression, sql
from scorers._sql_allowed import as_markdown
from scorers._sql_process import SqlProcess

NAN, INF = float("nan"), float("inf")


@contextlib.contextmanager
def warm_evaluator(expression: str) -> Iterator[SqlEvaluator]:
    """One expression, in the child process that the test before left: to start one takes 0.3 s."""
    evaluator = SqlEvaluator([sql("it", expression)])
    evaluator._process = _warm.pop() if _warm else None
    yield evaluator
    if evaluator._process is not None:
        _warm.append(evaluator._process)


_warm: list[SqlProcess] = []


@pytest.fixture(scope="module", autouse=True)
def _cool_down() -> Iterator[None]:
    yield
    while _warm:
        _warm.pop().close()


def evaluate(expression: str, columns: dict[str, Any] | pa.Table) -> tuple[list[float | None], list[bool]]:
    rows = columns if isinstance(columns, pa.Table) else pa.table(columns)
    with warm_evaluator(expression) as evaluator:
        values, failed = evaluator.evaluate(rows)
    return values["it"].to_pylist(), failed["it"].to_pylist()


def refusal(expression: str, schema: pa.Schema) -> str:
    with warm_evaluator(expression) as evaluator, pytest.raises(ValueError) as caught:
        evaluator.check(schema)
    assert str(caught.value).startswith("SQL scorer 'it': ")
    return str(caught.value)


def test_name_and_expression_are_stripped() -> None:
    made = scorers.sql("  answered ", "  1.0\n")
    assert made == SqlExpression("answered", "1.0")
    assert made.to_json() == {"sql_name": "answered", "sql_expression": "1.0"}


@pytest.mark.parametrize("name", ["a b", "é", "答", "٣", "x-y"])
def test_a_name_needs_one_letter_or_digit_of_any_script(name: str) -> None:
    assert sql(name, "1").name == name


@pytest.mark.parametrize("name", ["", "   ", "---", "_", "§"])
def test_a_name_without_letter_or_digit_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="needs a letter or digit"):
        sql(name, "1")


@pytest.mark.parametrize("name, expression", [(None, "1"), (1, "1"), ("a", None), ("a", 1.0), ("a", b"1")])
def test_what_is_not_text_is_a_type_error(name: Any, expression: Any) -> None:
    with pytest.raises(TypeError, match="is text; found"):
        sql(name, expression)


@pytest.mark.parametrize(
    "expression, message",
    [("", "blank"), (" \n ", "blank"), ("a; b", "semicolon"), ("';'", "semicolon"), ("y" * 4001, "4001")],
)
def test_a_blank_a_long_and_a_divided_expression_are_refused(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sql("x", expression)


def test_exactly_4000_characters_pass_after_stripping() -> None:
    assert len(sql("x", " " + "y" * 4000 + " ").expression) == 4000


def test_an_expression_is_frozen_and_travels() -> None:
    made = sql("x", "1")
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(AttributeError):
        made.name = "y"  # type: ignore[misc]


def test_the_version_follows_the_expression_and_not_the_name() -> None:
    assert sql("a", "1").version == sql("b", " 1 ").version != sql("a", "2").version
    assert len(sql("a", "1").version) == 64


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("""CASE WHEN "output" IS NOT NULL AND "output" <> '' THEN 1.0 ELSE 0.0 END""", [1, 1, 0, 0]),
        ("""CASE "output" WHEN 'Yes' THEN 1 WHEN 'no way' THEN 0.5 END""", [1, 0.5, None, None]),
        ("""COALESCE(length("output"), -1)""", [3, 6, 0, -1]),
        ("""length(NULLIF("output", ''))""", [3, 6, None, None]),
        ("""if("output" = "gold", 1, 0)""", [1, 0, 0, 0]),
        ("""CAST("output" = "gold" AS DOUBLE)""", [1, 0, 0, None]),
        ("""CAST("output" IS NOT DISTINCT FROM "gold" AS INT)""", [1, 0, 0, 0]),
        ("""CAST("output" IS DISTINCT FROM "gold" AS INT)""", [0, 1, 1, 1]),
        ("""("output" LIKE 'Y%')::int + ("output" ILIKE '%S')::int""", [2, 0, 0, None]),
        ("""("output" LIKE '%!%' ESCAPE '!')::int""", [0, 0, 0, None]),
        ("""("output" NOT LIKE '%o%' AND NOT "output" IN ('', 'x'))::int""", [1, 0, 0, None]),
        ("""("n" BETWEEN 1 AND 2 OR "n" > 3)::int""", [1, 1, 0, 1]),
        ("""length("output" || '/' || "gold")""", [7, 9, 3, None]),
        ("""round(abs(-"n") / 3 + 0.5 * 2 - 1, 2)""", [0.33, 0.67, 1.0, 1.33]),
        ("""greatest(least("n", 3), 2) % 3 + "n" // 2 + 2 ** 2""", [6, 7, 5, 6]),
        ("""sqrt("n" * "n") + ln(exp(0)) + pow("n", 0)""", [2, 3, 4, 5]),
        ("""levenshtein(lower("output"), 'yes') + jaccard('abc', 'abd')""", [0.5, 6.5, 3.5, None]),
        ("""regexp_matches("output", '^[A-Z]es$')::int""", [1, 0, 0, None]),
        ("""CAST(json_extract_string("j", '$.a') AS DOUBLE)""", [1, 2.5, None, None]),
        ("""CAST("j"->>'$.a' AS DOUBLE) + json_valid("j")::int""", [2, 3.5, None, None]),
        ("""TRY_CAST("j"->'b'->>'c' AS DOUBLE)""", [None, 7, None, None]),
        ("""len("l") + list_contains("l", 'x')::int""", [3, 1, 0, None]),
        ("""len(['a', 'b']) + len("l"[1:1])""", [3, 3, 2, None]),
        ("""CAST(len("l") = 2 AS DOUBLE)""", [1, 0, 0, None]),
        (""""s"."x" + "s"['x'] + struct_extract("s", 'x')""", [3, 6, None, None]),
        ("""extract(year FROM "at") + month("at") + date_part('day', "at")""", [2026] * 3 + [None]),
        ("""date_diff('day', DATE '2024-01-02', "at") + (INTERVAL 1 DAY > INTERVAL 1 HOUR)::int""", [0, 0, 0, None]),
        ("1.0 -- always", [1, 1, 1, 1]),
        ("/* bonus */ 7", [7, 7, 7, 7]),
        ("NULL", [None, None, None, None]),
        ("TRUE::int", [1, 1, 1, 1]),
        ("CAST('-0.5' AS DECIMAL(4, 2)) - 41", [-41.5] * 4),
    ],
)
def test_common_expressions_give_their_numbers(expression: str, expected: list[float | None]) -> None:
    rows = pa.table(
        {
            "output": ["Yes", "no way", "", None],
            "gold": ["Yes", "no", "no", "no"],
            "n": [1, 2, 3, 4],
            "j": ['{"a": 1}', '{"a": 2.5, "b": {"c": 7}}', "{}", None],
            "l": [["x", "y"], ["z"], [], None],
            "s": [{"x": 1}, {"x": 2}, {"x": None}, None],
            "at": [datetime.datetime(2024, 1, 1), *[datetime.datetime(2024, 1, 1, 5)] * 2, None],
        }
    )
    values, failed = evaluate(expression, rows)
    assert values == expected
    assert failed == [False] * 4


def test_a_failing_row_fails_alone_and_null_is_no_failure() -> None:
    rows = {"output": ["1", "x", None, "2"]}
    assert evaluate('CAST("output" AS DOUBLE)', rows) == ([1, None, None, 2], [False, True, False, False])


def test_nan_and_infinities_are_failures() -> None:
    assert evaluate('"x"', {"x": [1.0, NAN, INF, -INF, None]}) == ([1, *[None] * 4], [False, True, True, True, False])


@pytest.mark.parametrize(
    "expression",
    [
        '1 // ("n" - 1)',
        '5 % ("n" - 1)',
        '9223372036854775807 + "n"',
        'CAST("n" * 400 AS UTINYINT)',
        'sqrt(-"n")',
        'ln(-"n")',
        "strptime(\"t\", '%Y')::date - DATE '2000-01-01'",
        "CAST(\"t\" AS DATE) - DATE '2000-01-01'",
        "CAST(regexp_matches('a', \"t\") AS INT)",
        "date_part(\"t\", DATE '2000-01-01')",
        "CAST(json_extract(\"t\", '$') AS INT)",
        'exp(1000 * "n")',
    ],
)
def test_each_class_of_row_error_is_null_and_failed(expression: str) -> None:
    assert evaluate(expression, {"n": [1], "t": ["("]}) == ([None], [True])


def test_values_outside_zero_and_one_are_kept() -> None:
    assert evaluate('"n" * 1000', {"n": [-1, 5]})[0] == [-1000, 5000]


def test_expressions_do_not_disturb_each_other() -> None:
    rows = pa.table({"output": ["1", "x"]})
    with SqlEvaluator(
        [sql("a", "CAST(output AS INT)"), sql("b", "CAST(output AS INT) + 1"), sql("c", "1")]
    ) as evaluator:
        values, failed = evaluator.evaluate(rows)
    assert [values[name].to_pylist() for name in "abc"] == [[1, None], [2, None], [1, 1]]
    assert [failed[name].to_pylist() for name in "abc"] == [[False, True], [False, True], [False, False]]


def test_results_are_float64_and_bool_also_of_no_rows() -> None:
    rows = pa.table({"output": pa.array([], pa.string())})
    with SqlEvaluator([sql("a", "length(output)")]) as evaluator:
        values, failed = evaluator.evaluate(rows)
    assert values["a"].type == pa.float64()
    assert failed["a"].type == pa.bool_()
    assert len(values["a"]) == len(failed["a"]) == 0


def test_check_returns_the_columns_that_each_expression_reads() -> None:
    schema = pa.schema({"output": pa.string(), "Gold": pa.string(), "n": pa.int64()})
    with SqlEvaluator([sql("a", "length(gold) + n"), sql("b", "1"), sql("c", '"output"::double')]) as evaluator:
        assert evaluator.check(schema) == {"a": ("Gold", "n"), "b": (), "c": ("output",)}


def test_the_order_of_rows_is_kept_over_chunks() -> None:
    numbers = pa.chunked_array([list(range(start, start + 3001)) for start in range(0, 30_010, 3001)])
    assert evaluate('"n"', pa.table({"n": numbers}))[0] == [float(i) for i in range(30_010)]


@pytest.mark.parametrize("expression", ["VALUE", '"vAlUe"', "value"])
def test_case_does_not_count_where_one_column_fits(expression: str) -> None:
    assert evaluate(expression, {"Value": [3]})[0] == [3]


def test_of_columns_that_differ_in_case_the_exact_name_wins() -> None:
    assert evaluate('"a" + 10 * "A"', {"A": [1], "a": [2], "b": [0]})[0] == [12]


def test_a_column_that_may_be_two_is_refused() -> None:
    message = refusal('"OUTPUT"::double', pa.schema({"Output": pa.string(), "output": pa.string()}))
    assert "may be any of 'Output', 'output'" in message


@pytest.mark.parametrize(
    "name", ['a "quoted" one', "two words", "größe 答え 🙂", "select", "1st", "a.b", "__column_0__", "part"]
)
def test_any_column_name_can_be_read(name: str) -> None:
    quoted = name.replace('"', '""')
    assert evaluate(f'"{quoted}" + 1', {"other": ["x"], name: [1]})[0] == [2]


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    schema = pa.schema({"output": pa.string(), "expected": pa.string()})
    assert "unknown column 'expcted'; did you mean 'expected'?" in refusal("length(expcted)", schema)
    assert "unknown column 'zzz'; known: expected, output" in refusal("zzz", schema)
    assert "text is written in single quotes" in refusal('CAST(output = "yes" AS INT)', schema)


@pytest.mark.parametrize(
    "expression, message",
    [
        ("output", "yields VARCHAR, a number is needed: CAST(… AS DOUBLE)"),
        ("'0.5'", "yields VARCHAR, a number is needed"),
        ("output = 'x'", "yields BOOLEAN, a number is needed: CASE WHEN … THEN 1.0 ELSE 0.0 END or CAST(… AS DOUBLE)"),
        ("DATE '2020-01-01'", "yields DATE, a number is needed"),
        ("[1, 2]", "yields INTEGER[], a number is needed"),
        ("output->'$.a'", "yields JSON, a number is needed: CAST(… AS DOUBLE)"),
        ("s", "yields STRUCT(x INTEGER), a number is needed"),
        ("upper(n)", "No function matches the given name and argument types 'upper(BIGINT)'"),
        ("s.y", 'Could not find key "y" in struct'),
        ("regexp_matches(output, '(')::int", "missing ): ("),
        ("date_part('moon', DATE '2020-01-01')", "moon"),
        ("half + 1", "'half' (halffloat); convert it"),
        ("1 +", 'cannot be read as one SQL expression: syntax error at or near "+"'),
        ("-- nothing", "only one expression is allowed, and here are several or none"),
    ],
)
def test_what_is_wrong_is_said_before_any_row(expression: str, message: str) -> None:
    schema = pa.schema(
        {"output": pa.string(), "n": pa.int64(), "s": pa.struct([pa.field("x", pa.int32())]), "half": pa.float16()}
    )
    assert message in refusal(expression, schema)


def test_two_scorers_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="need different names; found a, a"):
        SqlEvaluator([sql("a", "1"), sql("a", "2")])


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["ab"], pa.large_string()),
        pa.array(["ab"], pa.string_view()),
        pa.array(["ab"]).dictionary_encode(),
        pa.array([{"x": {"y": ["a"]}}]),
        pa.array([["a"]], pa.large_list(pa.string())),
        pa.array([[1, 2]], pa.list_(pa.int8(), 2)),
        pa.array([b"ab"]),
        pa.array([b"ab"], pa.binary(2)),
        pa.array([Decimal("1.25")]),
        pa.array([datetime.date(2020, 1, 1)]),
        pa.array([1], pa.timestamp("s")),
        pa.array([1], pa.timestamp("ns", "Europe/Berlin")),
        pa.array([1], pa.duration("ms")),
        pa.array([1], pa.time32("s")),
        pa.array([1], pa.time64("ns")),
        pa.array([1], pa.date64()),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([True]),
        pa.array([2**63], pa.uint64()),
        pa.array(['{"a": 1}'], pa.json_()),
        pa.array([b"0" * 16], pa.uuid()),
        pa.array(["ab"], pa.large_string()).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_any_usual_type_can_be_read(column: pa.Array) -> None:
    (value,), (failed,) = evaluate('length("x"::varchar)', {"x": column})
    assert value is not None
    assert value >= 2
    assert not failed


def test_a_column_of_nulls_abstains() -> None:
    assert evaluate("length(x)", {"x": pa.nulls(2)}) == ([None, None], [False, False])


def test_a_column_that_sql_cannot_hold_is_no_concern_of_other_expressions() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    assert evaluate("n", {"n": [1], "half": pa.array([1.0], pa.float16()), "u": union})[0] == [1]


def test_times_with_a_zone_are_read_in_utc() -> None:
    noon = pa.array([datetime.datetime(2024, 7, 1, 12)], pa.timestamp("us", "UTC")).cast(
        pa.timestamp("us", "Asia/Tokyo")
    )
    assert evaluate('hour("at")', {"at": noon})[0] == [12]


def test_a_row_that_sql_cannot_take_in_fails_alone() -> None:
    far = pa.array([0, 2**62, 1], pa.timestamp("s"))  # beyond what DuckDB's microseconds hold
    assert evaluate('epoch("at")', {"at": far}) == ([0, None, 1], [False, True, False])


def test_the_lists_in_the_page_are_the_lists_in_the_code() -> None:
    page = (scorers.__path__[0]) + "/SQL.md"
    with open(page, encoding="utf-8") as file:
        assert as_markdown() in file.read(), (
            "paste the output of scorers._sql_allowed.as_markdown() into scorers/SQL.md"
        )
