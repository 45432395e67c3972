"""Expressions that must not run: each is refused by the real child process, and the error says what is not allowed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from scorers._sql import SqlEvaluator, sql
from scorers._sql_allowed import FUNCTIONS, OPERATOR_FUNCTIONS
from scorers._sql_gate import admit
from scorers._sql_process import SqlProcess

SCHEMA = pa.schema(
    {
        "output": pa.string(), "gold": pa.string(), "n": pa.int64(), "l": pa.list_(pa.int64()), "d": pa.timestamp("us"),
        "s": pa.struct([pa.field("x", pa.int64())]),
    }
)  # fmt: skip

SUBQUERY, ONE, COLUMN = "a subquery", "only one expression is allowed", "unknown column"
SYNTAX = "cannot be read as one SQL expression"


def function(name: str) -> str:
    return f"function {name} is not allowed"


ATTACKS: dict[str, str] = {
    # files and the network
    "(SELECT count(*) FROM read_csv('/etc/passwd'))": SUBQUERY,
    "(SELECT content FROM read_text('/etc/passwd'))": SUBQUERY,
    "(SELECT size FROM read_blob('/etc/*'))": SUBQUERY,
    "(SELECT count(*) FROM glob('/*'))": SUBQUERY,
    "(SELECT count(*) FROM '/etc/passwd')": SUBQUERY,
    "(SELECT count(*) FROM parquet_metadata('x.parquet'))": SUBQUERY,
    "(SELECT count(*) FROM sniff_csv('/etc/passwd'))": SUBQUERY,
    "(SELECT count(*) FROM read_json_auto('/etc/passwd'))": SUBQUERY,
    "(SELECT count(*) FROM 'https://example.com/x.csv')": SUBQUERY,
    "read_text('/etc/passwd')": function("read_text"),
    "glob('/*')": function("glob"),
    "hive_partition_component('a', 'b')": function("hive_partition_component"),
    "st_crs(output)": function("st_crs"),
    "1) + (2": SYNTAX,
    "output = 'x') OR (output = 'y'": SYNTAX,
    # the process, its settings, other tables
    "getenv('HOME')": function("getenv"),
    "(SELECT count(*) FROM frame)": SUBQUERY,
    "current_setting('memory_limit')": function("current_setting"),
    "(SELECT count(*) FROM duckdb_settings())": SUBQUERY,
    "duckdb_settings()": function("duckdb_settings"),
    "(SELECT count(*) FROM duckdb_secrets())": SUBQUERY,
    "(SELECT count(*) FROM information_schema.tables)": SUBQUERY,
    "(SELECT count(*) FROM other)": SUBQUERY,
    "(SELECT count(*) FROM duckdb_logs)": SUBQUERY,
    "(SELECT count(*) FROM query('SELECT 1'))": SUBQUERY,
    "(FROM query_table('part'))": SUBQUERY,
    "(TABLE part)": SUBQUERY,
    "(VALUES (1))": SUBQUERY,
    "(PIVOT part ON n)": ONE,
    "(DESCRIBE part)": SUBQUERY,
    "(WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT count(*) FROM r)": SUBQUERY,
    "(SELECT count(*) FROM range(100000000) a, range(100000000) b)": SUBQUERY,
    "query('SELECT 1')": function("query"),
    "getvariable('x')": function("getvariable"),
    "version()": function("version"),
    "current_user": COLUMN,
    "current_database()": function("current_database"),
    "txid_current()": function("txid_current"),
    "current_query()": function("current_query"),
    "write_log('x')": function("write_log"),
    "error('x')": function("error"),
    "json_serialize_sql('SELECT 1')": function("json_serialize_sql"),
    "has_table_privilege('x', 'y')": function("has_table_privilege"),
    "pg_sleep(1)": function("pg_sleep"),
    "sleep_ms(1000)": function("sleep_ms"),
    "nextval('s')": function("nextval"),
    # out of the bracket
    "1.0) FROM other --": SYNTAX,
    "1.0) AS v FROM part UNION ALL SELECT (1.0": ONE,
    "1.0) AS v FROM part INTERSECT SELECT (1.0": ONE,
    "1.0) AS v FROM (SELECT 1) --\n, (SELECT 1": SYNTAX,
    "1.0), (2.0": ONE,
    "1.0, 2.0": ONE,
    "": ONE,
    "1.0) AS v FROM part WHERE (1 = 1": SYNTAX,
    "1.0) AS w FROM part LIMIT (1": SYNTAX,
    "1.0) FROM other UNION ALL SELECT (1.0": ONE,
    "1.0) FROM other CROSS JOIN (SELECT 2": SYNTAX,
    "1.0 FROM part": SYNTAX,
    "1.0) AS v INTO t FROM part --": SYNTAX,
    "/* ) */ 1.0) FROM duckdb_settings() /* (": SYNTAX,
    "x: 1": SYNTAX,
    "1 AS x": SYNTAX,
    "SELECT 1": SUBQUERY,
    "DROP TABLE part": SYNTAX,
    "COPY part TO '/tmp/x'": SYNTAX,
    # more rows than one, or another row
    "sum(n)": function("sum"),
    "count(*)": function("count_star"),
    "count(DISTINCT n)": function("count"),
    "avg(n) FILTER (n > 1)": function("avg"),
    "first(output ORDER BY n)": function("first"),
    "list(n)": function("list"),
    "any_value(n)": function("any_value"),
    "geomean(n)": function("geomean"),
    "sum(n) OVER ()": "a window function",
    "row_number() OVER (ORDER BY n)": "a window function",
    "lag(n) OVER ()": "a window function",
    "rowid": COLUMN,
    "unnest(l)": function("unnest"),
    "unnest([1, 2])": function("unnest"),
    "generate_subscripts(l, 1)": function("generate_subscripts"),
    "regexp_split_to_table(output, ',')": function("regexp_split_to_table"),
    "n = ANY(l)": SUBQUERY,
    "n IN (SELECT 1)": SUBQUERY,
    "EXISTS (SELECT 1)": SUBQUERY,
    "ARRAY(SELECT 1)": SUBQUERY,
    "GROUPING(n)": "the operator GROUPING_FUNCTION is not allowed",
    # another value tomorrow
    "random()": function("random"),
    "RANDOM()": function("random"),
    '"random"()': function("random"),
    "setseed(0.5)": function("setseed"),
    "uuid()": function("uuid"),
    "gen_random_uuid()": function("gen_random_uuid"),
    "now()": function("now"),
    "current_date": COLUMN,
    "current_timestamp": COLUMN,
    "localtime": COLUMN,
    "today()": function("today"),
    "age(d)": function("age"),
    "get_current_timestamp()": function("get_current_timestamp"),
    "CAST('now' AS TIMESTAMP) > d": "yields BOOLEAN",
    # names and shapes of the language
    "*": "a star",
    "COLUMNS(*)": "a star",
    "*COLUMNS(*)": "OPERATOR_UNPACK is not allowed",
    "part.*": "a star",
    "s.*": "a star",
    "struct_pack(a := 1)": function("struct_pack"),
    "{'a': 1}": function("struct_pack"),
    "MAP {'a': 1}": function("map"),
    "UNPACK([1, 2])": "OPERATOR_UNPACK is not allowed",
    "abs(x := n)": "an argument name ('x') is not allowed",
    "abs(DISTINCT n)": "abs with DISTINCT is not allowed",
    "abs(n ORDER BY n)": "abs with ORDER BY is not allowed",
    "abs(n) FILTER (n > 1)": "abs with FILTER is not allowed",
    "system.main.abs(n)": "system.main.abs() is not allowed",
    "main.abs(n)": "main.abs() is not allowed",
    "output.length()": "output.length() is not allowed",
    "'a'.repeat(3).length()": function("repeat"),
    "part.n": COLUMN,
    "memory.main.part.n": COLUMN,
    "part": COLUMN,
    "v": COLUMN,
    "$1": "a parameter",
    "?": "a parameter",
    "$name": "a parameter",
    "#1": "a positional reference",
    "DEFAULT": "DEFAULT is not allowed",
    "output COLLATE NOCASE = 'x'": "COLLATE",
    "d AT TIME ZONE 'UTC'": function("timezone"),
    "list_transform(l, x -> x + 1)": function("list_transform"),
    "list_transform(l, lambda x: x + 1)": function("list_transform"),
    "list_filter(l, x -> x > 1)": function("list_filter"),
    "list_reduce(l, (a, b) -> a + b)": function("list_reduce"),
    "[x FOR x IN l IF x > 1]": function("list_apply"),
    "len(lambda x: x)": "a lambda",
    "list_aggregate(l, 'histogram')": function("list_aggregate"),
    "apply(l, x -> x)": function("apply"),
    "invoke(x -> x, 1)": function("invoke"),
    "CAST(n AS ENUM('a'))": "a cast to",
    "CAST(output AS regclass)": "a cast to regclass is not allowed",
    "CAST(s AS STRUCT(y INT))": "a cast to STRUCT is not allowed",
    "CAST(n AS UNION(y INT))": "a cast to UNION is not allowed",
    "CAST(n AS MAP(INT, INT))": "a cast to MAP is not allowed",
    "CAST(n AS main.double)": "a cast to double is not allowed",
    "CAST(output AS BLOB)": "a cast to BLOB is not allowed",
    "CAST(output AS BIT)": "a cast to BIT is not allowed",
    "CAST(output AS variant)": "a cast to VARIANT is not allowed",
    "CAST(output AS REGCLASS[])": "a cast to REGCLASS is not allowed",
    "TRY_CAST(output AS oid)": "a cast to oid is not allowed",
    "list_any_value(l)": function("list_any_value"),
    "alias(n)": function("alias"),
    "typeof(n)": function("typeof"),
    "constant_or_null(1, n)": function("constant_or_null"),
    "create_sort_key(n, 'ASC')": function("create_sort_key"),
    "__internal_decompress_string(n)": function("__internal_decompress_string"),
    "vector_type(n)": function("vector_type"),
    "stats(n)": function("stats"),
    # large values and deep trees
    "length(repeat('x', 1000000000))": function("repeat"),
    "length(lpad('x', 2147483647, 'y'))": function("lpad"),
    "length(rpad('x', 2147483647, 'y'))": function("rpad"),
    "len(range(2000000000))": function("range"),
    "len(generate_series(1, 2000000000))": function("generate_series"),
    "list_cosine_similarity(range(50000000)::DOUBLE[], range(50000000)::DOUBLE[])": function("range"),
    "length(format('{:>1000000000}', 'x'))": function("format"),
    "length(printf('%1000000000d', 1))": function("printf"),
    "len(list_transform(range(30000000), lambda y: md5(y::VARCHAR)))": function("list_transform"),
    "levenshtein(repeat('a', 300000), repeat('b', 300000))": function("repeat"),
    "len(list_resize(l, 2000000000))": function("list_resize"),
    "100000!": function("factorial"),
    "json_valid(repeat('[', 3000000))": function("repeat"),
    "bar(1, 0, 1, 1000000000)": function("bar"),
    "(" * 1990 + "1" + ")" * 1990: "nested too deeply",
    "+".join(["1"] * 2000): "nested too deeply",
    "+".join(["1"] * 20_000): "nested too deeply",
    "- " * 1500 + "1": "nested too deeply",
    "not " * 900 + "true": "nested too deeply",
    "[" * 1900 + "]" * 1900: "nested too deeply",
    "CASE WHEN true THEN " * 150 + "1" + " END" * 150: "",
}
"""An expression, and a part of the message that refuses it."""


@pytest.fixture(scope="module")
def process() -> Iterator[SqlProcess]:
    process = SqlProcess()
    yield process
    process.close()


def check(process: SqlProcess, expression: str) -> str:
    """The error of one expression, below `SqlExpression`, whose own checks would refuse some of them earlier."""
    answer, _ = process.ask({"op": "check", "expression": expression}, SCHEMA.serialize(), cpu_s=60)
    return str(answer.get("error", ""))


def test_there_are_enough_attacks() -> None:
    assert len(ATTACKS) >= 150


@pytest.mark.parametrize("expression, message", ATTACKS.items(), ids=lambda text: text[:40])
def test_an_attack_is_refused_and_told_what_is_not_allowed(process: SqlProcess, expression: str, message: str) -> None:
    error = check(process, expression)
    assert error, f"admitted: {expression}"
    assert message in error
    assert len(error) < 400


def test_every_function_of_duckdb_that_is_not_on_the_list_is_refused(process: SqlProcess) -> None:
    rows = duckdb.connect().execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    names = sorted({name for (name,) in rows} - FUNCTIONS - set(OPERATOR_FUNCTIONS))
    assert len(names) > 800
    admitted = [name for name in names if "is not allowed" not in check(process, f'"{name}"("n")')]
    assert not admitted


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE part", "COPY part TO '/tmp/x'", "ATTACH '/tmp/x.db'", "SET threads = 8", "LOAD httpfs",
        "INSTALL httpfs",
        "PRAGMA version", "EXPORT DATABASE '/tmp/x'", "CALL duckdb_settings()", "CREATE TABLE x (i INT)", "SELECT 1",
        "INSERT INTO part VALUES (1)", "DELETE FROM part", "CHECKPOINT", "EXECUTE x", "RESET threads", "USE memory",
    ],
)  # fmt: skip
def test_a_second_statement_is_refused_twice_over(process: SqlProcess, statement: str) -> None:
    expression = f"1.0) FROM part; {statement}; SELECT (1.0"
    with pytest.raises(ValueError, match="semicolon"):
        sql("x", expression)
    error = check(process, expression)
    assert ONE in error or SYNTAX in error


def test_what_runs_is_written_anew_from_the_tree() -> None:
    admitted = admit(duckdb.connect(), """ "Output" /* a */ = 'x' -- b\n AND n[1] IN (1, 2) """, ["output", "n"])
    assert admitted.sql == "((__column_0__ = 'x') AND (__column_1__[1] IN (1, 2)))"
    assert admitted.columns == ("output", "n")


def test_an_operator_that_a_new_duckdb_describes_otherwise_is_refused() -> None:
    class Described:
        def execute(self, query: str, parameters: object = None) -> Described:
            return self

        def fetchall(self) -> list[tuple[str]]:
            return [(TREE.replace('"literal":', '"hidden": 1, "literal":'),)]

    with pytest.raises(ValueError, match="CONSTANT with hidden is not allowed"):
        admit(Described(), "1", [])


TREE = """{"error": false, "statements": [{"node": {"type": "SELECT_NODE", "modifiers": [], "cte_map": {"map": []},
"select_list": [{"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "v",
"literal": {"kind": "INTEGER", "text": "1"}}],
"from_table": {"type": "BASE_TABLE", "alias": "", "sample": null, "schema_name": "", "table_name": "part",
"column_name_alias": [], "catalog_name": "", "at_clause": null}, "where_clause": null, "group_expressions": [],
"group_sets": [], "aggregate_handling": "STANDARD_HANDLING", "having": null, "sample": null, "qualify": null}}]}"""


def grown(text: str, decades: int) -> str:
    """A text of 10^decades characters for each one of `text`, by functions that are allowed."""
    for _ in range(decades):
        text = f"replace({text}, 'a', 'aaaaaaaaaa')"
    return text


BOMBS = {
    "memory": f"length({grown('output', 10)})",
    "time": f"levenshtein({grown('output', 6)}, {grown('output', 6)} || 'b')",
    "list": "len(string_split(" + grown("output", 8) + ", 'a'))",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_made_of_allowed_functions_fails_its_row_alone_and_in_time(bomb: str) -> None:
    rows = pa.table({"output": ["b", "a", "bb", "b", None, "c", "d"]})
    started = time.monotonic()
    with SqlEvaluator([sql("bomb", BOMBS[bomb]), sql("fine", "length(output)")], deadline_s=1) as evaluator:
        values, failed = evaluator.evaluate(rows)
    assert time.monotonic() - started < 90
    assert failed["bomb"].to_pylist() == [False, True, False, False, False, False, False]
    assert values["bomb"].null_count == 2
    assert values["fine"].to_pylist() == [1, 1, 2, 1, None, 1, 1]
    assert not any(failed["fine"].to_pylist())


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_that_needs_no_row_is_refused_before_the_first(bomb: str) -> None:
    expression = re.sub(r"\boutput\b", "'a'", BOMBS[bomb])
    with SqlEvaluator([sql("bomb", expression)], deadline_s=2) as evaluator, pytest.raises(ValueError) as caught:
        evaluator.check(SCHEMA)
    assert re.search("its constant part alone takes more than (2 s or )?2 GiB; make it smaller", str(caught.value))


def test_a_pattern_that_other_engines_hang_on_takes_linear_time() -> None:
    rows = pa.table({"output": ["a" * 50_000 + "!"]})
    with SqlEvaluator([sql("x", "regexp_matches(output, '^(a+)+$')::int")], deadline_s=5) as evaluator:
        values, _ = evaluator.evaluate(rows)
    assert values["x"].to_pylist() == [0]
