"""Each allowed function and operator is a function of its row alone: whole == row by row == batches of seven."""

from __future__ import annotations

import datetime

import duckdb
import pyarrow as pa
import pytest

from scorers._sql import SqlEvaluator, sql
from scorers._sql_allowed import CAST_TYPES, FUNCTIONS, OPERATOR_FUNCTIONS

N_ROWS = 29


def sample_rows() -> pa.Table:
    """Rows that differ, with nulls, empty values and values that many functions fail on."""
    texts = [
        "",
        "Hello",
        "hallo wörld",
        "a,b,,c",
        "2024-02-29",
        "12.5",
        "Äpfel 🙂",
        None,
        "x" * 40,
        "[1, 2]",
        "a/b/c",
        "%_",
    ]
    others = ["hello", "Hello", None, "a", ",", "", "wörld", "2024", "🙂"]
    jsons = ['{"a": 1, "b": [1, 2, {"c": "x"}]}', "[1, 2, 3]", "{}", "not json", None, '{"a": "7"}', "null", '"a"']
    lists = [[1, 2, 3], [], None, [3, None, 1], [7], [2, 2, 2, 5]]
    moments = [
        datetime.datetime(1969 + 3 * i, 1 + i % 12, 1 + i % 28, i % 24, 7 * i % 60, 11 * i % 60, i)
        for i in range(N_ROWS)
    ]
    vectors = [[float(i % 5) + 0.25, float(i % 3) - 1.5, 0.5 * i] for i in range(N_ROWS)]
    numbers = range(N_ROWS)

    def cycle(values: list[object]) -> list[object]:
        return [values[i % len(values)] for i in numbers]

    return pa.table(
        {
            "t": cycle(texts),
            "u": cycle(others),
            "j": cycle(jsons),
            "n": pa.array([None if i % 11 == 10 else i * 37 % 101 - 20 for i in numbers], pa.int64()),
            "i": pa.array([i % 6 for i in numbers], pa.int32()),
            "x": pa.array([None if i % 13 == 12 else (i * 7 % 23 - 9) / 4 for i in numbers], pa.float64()),
            "l": pa.array(cycle(lists), pa.list_(pa.int64())),
            "ll": pa.array([[[i], [i, i % 3], None][: i % 4] for i in numbers], pa.list_(pa.list_(pa.int64()))),
            "w": pa.array([[t, "b"] if t else None for t in cycle(texts)], pa.list_(pa.string())),
            "f": pa.array(vectors, pa.list_(pa.float64())),
            "g": pa.array(vectors[::-1], pa.list_(pa.float64())),
            "a3": pa.array(vectors, pa.list_(pa.float64(), 3)),
            "b3": pa.array(vectors[::-1], pa.list_(pa.float64(), 3)),
            "s": pa.array([None if i % 9 == 8 else {"x": i, "y": str(i)} for i in numbers]),
            "m": pa.array([[("a", i), ("b", 2)][: i % 3] for i in numbers], pa.map_(pa.string(), pa.int64())),
            "d": pa.array([None if i % 10 == 9 else moment for i, moment in enumerate(moments)], pa.timestamp("us")),
        }
    )


def text(expression: str) -> str:
    """A number that tells texts apart."""
    return f"length({expression}) + 100 * coalesce(ascii(substr({expression}, 2)), 0) + unicode({expression})"


def listed(expression: str) -> str:
    """A number that tells lists apart."""
    return text(f"({expression})::varchar")


SAMPLES: dict[str, str] = {
    "if": "if(n > 3, 1, x)",
    "nullif": "nullif(n, 17)",
    "ascii": "ascii(t)",
    "char_length": "char_length(t)",
    "character_length": "character_length(t)",
    "chr": text("chr(abs(i) + 65)"),
    "concat": text("concat(t, u, n)"),
    "concat_ws": text("concat_ws('-', t, u)"),
    "contains": "contains(t, u)::int",
    "ends_with": "ends_with(t, u)::int",
    "instr": "instr(t, u)",
    "lcase": text("lcase(t)"),
    "left": text("left(t, i)"),
    "len": "len(t) + len(l)",
    "length": "length(t)",
    "length_grapheme": "length_grapheme(t)",
    "lower": text("lower(t)"),
    "ltrim": text("ltrim(t, 'aH')"),
    "md5": text("md5(t)"),
    "nfc_normalize": text("nfc_normalize(t)"),
    "ord": "ord(t)",
    "position": "position(u IN t)",
    "prefix": "prefix(t, u)::int",
    "replace": text("replace(t, 'l', u)"),
    "reverse": text("reverse(t)"),
    "right": text("right(t, i)"),
    "rtrim": text("rtrim(t, 'ox')"),
    "sha256": text("sha256(t)"),
    "split": listed("split(t, ',')"),
    "split_part": text("split_part(t, ',', i)"),
    "starts_with": "starts_with(t, u)::int",
    "str_split": "len(str_split(t, 'l'))",
    "string_split": listed("string_split(t, u)"),
    "string_to_array": "len(string_to_array(t, '/'))",
    "strip_accents": text("strip_accents(t)"),
    "strlen": "strlen(t)",
    "strpos": "strpos(t, u)",
    "substr": text("substr(t, i, 3)"),
    "substring": text("substring(t FROM 2 FOR 2)"),
    "suffix": "suffix(t, u)::int",
    "translate": text("translate(t, 'abl', 'xyz')"),
    "trim": text("trim(t) || trim(BOTH 'H' FROM t)"),
    "ucase": text("ucase(t)"),
    "unicode": "unicode(t)",
    "upper": text("upper(t)"),
    "regexp_escape": text("regexp_escape(t)"),
    "regexp_extract": text("regexp_extract(t, '([a-z]+)', 1)"),
    "regexp_extract_all": listed("regexp_extract_all(t, '[a-z]')"),
    "regexp_full_match": "(t SIMILAR TO '[A-Z].*')::int",
    "regexp_matches": "regexp_matches(t, u)::int",
    "regexp_replace": text("regexp_replace(t, 'l+', u, 'g')"),
    "regexp_split_to_array": "len(regexp_split_to_array(t, '[,/]'))",
    "str_split_regex": "len(str_split_regex(t, '[,/]'))",
    "string_split_regex": listed("string_split_regex(t, '[lo]')"),
    "damerau_levenshtein": "damerau_levenshtein(t, u)",
    "editdist3": "editdist3(t, u)",
    "hamming": "hamming(t, reverse(t))",
    "jaccard": "jaccard(t, u)",
    "jaro_similarity": "jaro_similarity(t, u)",
    "levenshtein": "levenshtein(t, u)",
    "jaro_winkler_similarity": "jaro_winkler_similarity(t, u)",
    "mismatches": "mismatches(t, reverse(t))",
    "abs": "abs(x)",
    "acos": "acos(x)",
    "asin": "asin(x)",
    "atan": "atan(x)",
    "atan2": "atan2(x, n)",
    "cbrt": "cbrt(x)",
    "ceil": "ceil(x)",
    "ceiling": "ceiling(x)",
    "cos": "cos(x)",
    "cosh": "cosh(x)",
    "degrees": "degrees(x)",
    "exp": "exp(x)",
    "floor": "floor(x)",
    "fmod": "fmod(x, 1.5)",
    "gcd": "gcd(n, 12)",
    "greatest": "greatest(n, x, 3)",
    "isfinite": "isfinite(x / i)::int",
    "isinf": "isinf(x / i)::int",
    "isnan": "isnan(x)::int",
    "lcm": "lcm(n, 4)",
    "least": "least(n, x, 3)",
    "ln": "ln(x)",
    "log": "log(x)",
    "log10": "log10(x)",
    "log2": "log2(x)",
    "mod": "mod(n, i)",
    "pi": "pi() * n",
    "pow": "pow(x, 2)",
    "power": "power(n, x)",
    "radians": "radians(x)",
    "round": "round(x, 1) + round(n, -1)",
    "round_even": "round_even(x, 0)",
    "sign": "sign(x)",
    "sin": "sin(x)",
    "sinh": "sinh(x)",
    "sqrt": "sqrt(x)",
    "tan": "tan(x)",
    "tanh": "tanh(x)",
    "trunc": "trunc(x)",
    "json_array_length": "json_array_length(j)",
    "json_contains": "json_contains(j, '1')::int",
    "json_exists": "json_exists(j, '$.a')::int",
    "json_extract": "json_extract(j, '$.a')::int",
    "json_extract_path": "json_extract_path(j, 'a')::int",
    "json_extract_path_text": "json_extract_path_text(j, '$.a')::int",
    "json_extract_string": text("json_extract_string(j, '$.b[2].c')"),
    "json_keys": "len(json_keys(j))",
    "json_type": text("json_type(j)"),
    "json_valid": "json_valid(j)::int",
    "json_value": "json_value(j, '$.a')::int",
    "array_contains": "array_contains(l, 3)::int",
    "array_cosine_similarity": "array_cosine_similarity(a3, b3)",
    "array_length": "array_length(l)",
    "array_to_string": text("array_to_string(l, '-')"),
    "flatten": listed("flatten(ll)"),
    "list_avg": "list_avg(f) + list_avg(l)",
    "list_concat": listed("list_concat(l, [i])"),
    "list_contains": "list_contains(l, i)::int",
    "list_cosine_distance": "list_cosine_distance(f, g)",
    "list_cosine_similarity": "list_cosine_similarity(f, g)",
    "list_count": "list_count(l)",
    "list_distance": "list_distance(f, g)",
    "list_dot_product": "list_dot_product(f, g)",
    "list_element": "list_element(l, i)",
    "list_extract": "list_extract(l, 2)",
    "list_has": "list_has(l, 3)::int",
    "list_has_all": "list_has_all(l, [1])::int",
    "list_has_any": "list_has_any(l, [1, 7])::int",
    "list_indexof": "list_indexof(l, 3)",
    "list_inner_product": "list_inner_product(f, g)",
    "list_max": "list_max(l)",
    "list_min": "list_min(f)",
    "list_position": "list_position(l, 2)",
    "list_reverse": listed("list_reverse(l)"),
    "list_slice": listed("list_slice(l, 1, i)"),
    "list_sort": listed("list_sort(l)"),
    "list_sum": "list_sum(f) + list_sum(l)",
    "list_unique": "list_unique(l)",
    "list_value": "len([i, n])",
    "cardinality": "cardinality(m)",
    "element_at": listed("element_at(m, 'a')"),
    "map_contains": "map_contains(m, 'b')::int",
    "map_extract": listed("map_extract(m, 'a')"),
    "map_extract_value": "map_extract_value(m, 'a')",
    "map_keys": listed("map_keys(m)"),
    "map_values": listed("map_values(m)"),
    "struct_extract": "struct_extract(s, 'x')",
    "date_diff": "date_diff('hour', d, DATE '2000-01-01')",
    "date_part": "date_part('millisecond', d)",
    "date_trunc": "epoch(date_trunc('month', d))",
    "datediff": "datediff('year', d, DATE '2000-01-01')",
    "datepart": "datepart('week', d)",
    "datetrunc": "epoch(datetrunc('hour', d))",
    "day": "day(d)",
    "dayname": text("dayname(d)"),
    "dayofmonth": "dayofmonth(d)",
    "dayofweek": "dayofweek(d)",
    "dayofyear": "dayofyear(d)",
    "epoch": "epoch(d)",
    "epoch_ms": "epoch_ms(d)",
    "epoch_us": "epoch_us(d)",
    "hour": "hour(d)",
    "isodow": "isodow(d)",
    "last_day": "day(last_day(d))",
    "make_date": "dayofyear(make_date(2000 + i, i, 3))",
    "make_timestamp": "epoch(make_timestamp(2000 + i, 2, i + 24, 1, 1, x))",
    "minute": "minute(d)",
    "month": "month(d)",
    "monthname": text("monthname(d)"),
    "quarter": "quarter(d)",
    "second": "second(d)",
    "strftime": text("strftime(d, '%d/%m %H')"),
    "strptime": "epoch(strptime(t, '%Y-%m-%d'))",
    "to_days": "epoch(d + to_days(i))",
    "to_hours": "epoch(d + to_hours(i))",
    "to_microseconds": "epoch_us(d + to_microseconds(i))",
    "to_milliseconds": "epoch_ms(d + to_milliseconds(i))",
    "to_minutes": "epoch(d + to_minutes(i))",
    "to_months": "epoch(d + to_months(i))",
    "to_seconds": "epoch(d + to_seconds(i))",
    "to_timestamp": "hour(to_timestamp(n * 1e6))",
    "to_weeks": "epoch(d + to_weeks(i))",
    "to_years": "epoch(d + to_years(i))",
    "try_strptime": "epoch(try_strptime(t, '%Y-%m-%d'))",
    "week": "week(d)",
    "weekday": "weekday(d)",
    "weekofyear": "weekofyear(d)",
    "year": "year(d)",
    "+": "n + x",
    "-": "-n - x",
    "*": "n * x",
    "/": "n / i",
    "//": "n // i",
    "%": "n % i",
    "**": "x ** 2",
    "^": "x ^ 2",
    "||": text("t || u") + " + len(l || [i])",
    "~~": "(t LIKE 'H%')::int",
    "!~~": "(t NOT LIKE '%l%')::int",
    "~~*": "(t ILIKE 'h%o')::int",
    "!~~*": "(t NOT ILIKE 'h%')::int",
    "~~~": "(t GLOB '*[a-c]*')::int",
    "like_escape": "(t LIKE '!%%' ESCAPE '!')::int",
    "ilike_escape": "(t ILIKE 'H!%' ESCAPE '!')::int",
    "->>": "(j->>'$.a')::int",
    "^@": "(t ^@ u)::int",
    "@>": "(l @> [1])::int",
    "<@": "([7] <@ l)::int",
    "&&": "(l && [1, 7])::int",
}

SYNTAX = {
    "not like": "(t NOT LIKE '!%%' ESCAPE '!')::int + (t NOT ILIKE 'H!%' ESCAPE '!')::int",
    "case": "CASE WHEN n > 5 THEN x WHEN t = 'Hello' THEN 1 // i END",
    "coalesce": "COALESCE(x, n, -1)",
    "between": "(n BETWEEN i AND 30)::int",
    "in": "(t IN ('Hello', u))::int",
    "null": "(t IS NULL)::int + (u IS NOT NULL)::int",
    "distinct": "(t IS DISTINCT FROM u)::int",
    "logic": "(n > 3 AND NOT (x < 1) OR t <> u)::int",
    "slice": listed("l[2:]") + " + len(t[1:3])",
    "index": "l[i] + len(w[1])",
    "field": "s.x + s['y']::int",
    "try": "TRY(n // i)",
    "arrow": "(j->'b'->>2->>'c' = 'x')::int",
    "extract": "extract(year FROM d)",
    "interval": "epoch(d + INTERVAL (i) HOUR)",
}

# A column that casts to the type, and what makes a number of the result.
CASTS = dict.fromkeys(CAST_TYPES, ("n", "{}")) | {
    **dict.fromkeys(["varchar", "text", "string", "char", "bpchar"], ("x", text("{}"))),
    **dict.fromkeys(["bool", "boolean", "logical"], ("i", "{}::int")),
    "date": ("t", "year({})"),
    **dict.fromkeys(["time", "interval"], ("('0' || i || ':00:00')", "hour({})")),
    **{name: ("t", "epoch({})") for name in CAST_TYPES if name.startswith(("timestamp", "datetime"))},
    "json": ("j", "json_array_length({})"),
}


def expressions() -> dict[str, str]:
    casts = {}
    for name, (column, number) in sorted(CASTS.items()):
        if name not in ("list", "array"):
            casts[f"cast {name}"] = number.replace("{}", f"CAST({column} AS {name})")
            casts[f"try_cast {name}"] = number.replace("{}", f"TRY_CAST({column} AS {name})")
    casts["cast list"] = listed("CAST(t AS INT[])")
    casts["cast array"] = listed("CAST(f AS DOUBLE[3])")
    return SAMPLES | {f"syntax {name}": expression for name, expression in SYNTAX.items()} | casts


def cuts(size: int) -> list[int]:
    return list(range(0, N_ROWS, size))


@pytest.fixture(scope="module")
def outcomes() -> dict[int, dict[str, list[tuple[float | None, bool]]]]:
    """By batch size and expression: value and failure of each row."""
    rows = sample_rows()
    found: dict[int, dict[str, list[tuple[float | None, bool]]]] = {}
    with SqlEvaluator([sql(f"{name}.", expression) for name, expression in named()]) as evaluator:
        for size in (N_ROWS, 7, 1):
            found[size] = {f"{name}.": [] for name, _ in named()}
            for start in cuts(size):
                values, failed = evaluator.evaluate(rows.slice(start, size))
                for name in found[size]:
                    found[size][name] += zip(values[name].to_pylist(), failed[name].to_pylist(), strict=True)
    return found


def named() -> list[tuple[str, str]]:
    # A scorer's name needs a letter or digit, which that of an operator has not.
    return [(f"{i} {name}", expression) for i, (name, expression) in enumerate(expressions().items())]


def test_each_allowed_function_operator_and_type_has_a_sample() -> None:
    assert set(SAMPLES) == FUNCTIONS | set(OPERATOR_FUNCTIONS)
    assert set(CASTS) == CAST_TYPES


def test_each_sample_uses_what_it_stands_for() -> None:
    connection = duckdb.connect()
    for name, expression in SAMPLES.items():
        ((tree,),) = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT {expression}"]).fetchall()
        assert f'"function_name":"{name}"' in tree, name


@pytest.mark.parametrize("name", [f"{name}." for name, _ in named()])
def test_whole_is_row_by_row_is_batches_of_seven(
    outcomes: dict[int, dict[str, list[tuple[float | None, bool]]]], name: str
) -> None:
    whole = outcomes[N_ROWS][name]
    assert len(whole) == N_ROWS
    assert whole == outcomes[1][name] == outcomes[7][name]
    assert any(value is not None for value, _ in whole), "the sample never yields a value: it proves nothing"


@pytest.mark.parametrize(
    "expression",
    [
        "row_number() OVER ()",
        "sum(n) OVER ()",
        "lag(n) OVER ()",
        "random()",
        "(SELECT max(n) FROM part)",
        "avg(x) OVER ()",
    ],
)
def test_the_proof_fails_for_what_is_not_row_wise(expression: str) -> None:
    connection = duckdb.connect()

    def outcome(size: int) -> list[object]:
        values = []
        for start in cuts(size):
            connection.register("part", sample_rows().slice(start, size))
            values += [value for (value,) in connection.execute(f"SELECT {expression} FROM part").fetchall()]
        return values

    assert outcome(N_ROWS) != outcome(1) or outcome(N_ROWS) != outcome(7)


def test_no_allowed_function_is_volatile_or_an_aggregate() -> None:
    rows = duckdb.connect().execute(
        "SELECT function_name, function_type, stability FROM duckdb_functions() WHERE list_contains(?, function_name)",
        [sorted(FUNCTIONS | set(OPERATOR_FUNCTIONS))],
    )
    found = rows.fetchall()
    assert {kind for _, kind, _ in found} <= {"scalar", "macro"}
    assert not [name for name, _, stability in found if stability == "VOLATILE"]
