"""What an expression may use. Data only: each name was seen to be a function of its row alone (tests prove it).

Left out on purpose: what builds large values from small numbers (repeat, lpad, rpad, range, format, printf,
factorial), what reads settings, files or the clock, aggregates, windows, lambdas, and what depends on a collation.
"""

from __future__ import annotations

FUNCTION_GROUPS: dict[str, tuple[str, ...]] = {
    "conditions": ("if", "nullif"),
    "text": (
        "ascii", "char_length", "character_length", "chr", "concat", "concat_ws", "contains", "ends_with", "instr",
        "lcase", "left", "len", "length", "length_grapheme", "lower", "ltrim", "md5", "nfc_normalize", "ord",
        "position", "prefix", "replace", "reverse", "right", "rtrim", "sha256", "split", "split_part", "starts_with",
        "str_split", "string_split", "string_to_array", "strip_accents", "strlen", "strpos", "substr", "substring",
        "suffix", "translate", "trim", "ucase", "unicode", "upper",
    ),
    "patterns": (
        "regexp_escape", "regexp_extract", "regexp_extract_all", "regexp_full_match", "regexp_matches",
        "regexp_replace", "regexp_split_to_array", "str_split_regex", "string_split_regex",
    ),
    "similarity": (
        "damerau_levenshtein", "editdist3", "hamming", "jaccard", "jaro_similarity", "jaro_winkler_similarity",
        "levenshtein", "mismatches",
    ),
    "numbers": (
        "abs", "acos", "asin", "atan", "atan2", "cbrt", "ceil", "ceiling", "cos", "cosh", "degrees", "exp", "floor",
        "fmod", "gcd", "greatest", "isfinite", "isinf", "isnan", "lcm", "least", "ln", "log", "log10", "log2", "mod",
        "pi", "pow", "power", "radians", "round", "round_even", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    ),
    "JSON": (
        "json_array_length", "json_contains", "json_exists", "json_extract", "json_extract_path",
        "json_extract_path_text", "json_extract_string", "json_keys", "json_type", "json_valid", "json_value",
    ),
    "lists": (
        "array_contains", "array_cosine_similarity", "array_length", "array_to_string", "flatten", "list_avg",
        "list_concat", "list_contains", "list_cosine_distance", "list_cosine_similarity", "list_count", "list_distance",
        "list_dot_product", "list_element", "list_extract", "list_has", "list_has_all", "list_has_any", "list_indexof",
        "list_inner_product", "list_max", "list_min", "list_position", "list_reverse", "list_slice", "list_sort",
        "list_sum", "list_unique", "list_value",
    ),
    "structs and maps": (
        "cardinality", "element_at", "map_contains", "map_extract", "map_extract_value", "map_keys", "map_values",
        "struct_extract",
    ),
    "dates and times": (
        "date_diff", "date_part", "date_trunc", "datediff", "datepart", "datetrunc", "day", "dayname", "dayofmonth",
        "dayofweek", "dayofyear", "epoch", "epoch_ms", "epoch_us", "hour", "isodow", "last_day", "make_date",
        "make_timestamp", "minute", "month", "monthname", "quarter", "second", "strftime", "strptime", "to_days",
        "to_hours", "to_microseconds", "to_milliseconds", "to_minutes", "to_months", "to_seconds", "to_timestamp",
        "to_weeks", "to_years", "try_strptime", "week", "weekday", "weekofyear", "year",
    ),
}  # fmt: skip
FUNCTIONS = frozenset(name for names in FUNCTION_GROUPS.values() for name in names)

# Operators that DuckDB's syntax tree shows as functions, and how they are written.
OPERATOR_FUNCTIONS: dict[str, str] = {
    "+": "+", "-": "-", "*": "*", "/": "/", "//": "//", "%": "%", "**": "**", "^": "^", "||": "||",
    "~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE", "~~~": "GLOB",
    "like_escape": "LIKE … ESCAPE", "ilike_escape": "ILIKE … ESCAPE",
    "->>": "->>", "^@": "^@", "@>": "@>", "<@": "<@", "&&": "&&",
}  # fmt: skip

# Types of the other nodes of the tree, by class.
NODE_TYPES: dict[str, frozenset[str]] = {
    "BETWEEN": frozenset({"COMPARE_BETWEEN"}),
    "CASE": frozenset({"CASE_EXPR"}),
    "CAST": frozenset({"OPERATOR_CAST"}),
    "COLUMN_REF": frozenset({"COLUMN_REF"}),
    "COMPARISON": frozenset(
        {
            "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHAN",
            "COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM",
        }
    ),
    "CONJUNCTION": frozenset({"CONJUNCTION_AND", "CONJUNCTION_OR"}),
    "CONSTANT": frozenset({"VALUE_CONSTANT"}),
    "FUNCTION": frozenset({"FUNCTION"}),
    "LAMBDA": frozenset({"LAMBDA"}),
    "OPERATOR": frozenset(
        {
            "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "OPERATOR_TRY",
            "COMPARE_IN", "COMPARE_NOT_IN", "ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT",
        }
    ),
}  # fmt: skip

# Types to cast to, by every name that DuckDB has for them; LIST and ARRAY are `VARCHAR[]` and `DOUBLE[3]`.
CAST_TYPES = frozenset(
    {
        "boolean", "bool", "logical", "tinyint", "int1", "smallint", "int2", "short", "integer", "int", "int4",
        "signed", "bigint", "int8", "long", "hugeint", "int128", "utinyint", "uint8", "usmallint", "uint16",
        "uinteger", "uint32", "ubigint", "uint64", "uhugeint", "uint128", "int16", "int32", "int64", "real",
        "float", "float4", "double", "float8", "decimal", "dec", "numeric", "varchar", "text", "string", "char",
        "bpchar", "date", "time", "timestamp", "datetime", "timestamp_s", "timestamp_ms", "timestamp_us",
        "timestamp_ns", "timestamptz", "interval", "json", "timestamp with time zone", "list", "array",
    }
)  # fmt: skip

# A result of one of these is a number; DECIMAL carries its digits, NULL is the type of a bare NULL.
NUMERIC_TYPES = frozenset(
    {
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
        "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", '"NULL"',
    }
)  # fmt: skip

# What a node that is not allowed is called in the message.
REFUSED_CLASSES: dict[str, str] = {
    "COLLATE": "COLLATE (use lower() or strip_accents())",
    "DEFAULT": "DEFAULT",
    "LAMBDA": "a lambda",
    "PARAMETER": "a parameter ($1, ?)",
    "POSITIONAL_REFERENCE": "a positional reference (#1)",
    "STAR": "a star (*, COLUMNS)",
    "SUBQUERY": "a subquery (SELECT inside the expression, ANY, EXISTS)",
    "WINDOW": "a window function (OVER)",
    "TYPE": "a type as a value",
}

# Why a function that people reach for is not on the list.
REASONS: dict[str, tuple[str, ...]] = {
    "only one expression is allowed, and here are several or none": ("row",),
    "a row is scored without the others; for a list there is list_sum, list_avg, len and the like": (
        "any_value", "avg", "count", "count_star", "first", "last", "list", "max", "mean", "median", "min", "mode",
        "string_agg", "stddev", "sum", "unnest",
    ),
    "a score must come out the same tomorrow": (
        "age", "current_date", "current_timestamp", "gen_random_uuid", "get_current_timestamp", "nextval", "now",
        "random", "today", "uuid",
    ),
    "it makes large values out of small ones": (
        "factorial", "format", "generate_series", "list_resize", "lpad", "printf", "range", "repeat", "rpad",
    ),
    "a score sees its row alone, no settings, variables, files or other tables": (
        "current_database", "current_schema", "current_setting", "current_user", "duckdb_settings", "getenv",
        "getvariable", "glob", "query", "query_table", "read_blob", "read_csv", "read_json", "read_parquet",
        "read_text", "version", "write_log",
    ),
}  # fmt: skip


def as_markdown() -> str:
    """The lists as the tables of `SQL.md`."""
    lines = ["| group | functions |", "|---|---|"]
    lines += [f"| {group} | {' '.join(f'`{name}`' for name in names)} |" for group, names in FUNCTION_GROUPS.items()]
    written = [operator.replace("|", "\\|") for operator in OPERATOR_FUNCTIONS.values()]
    lines.append(f"| operators | {' '.join(f'`{operator}`' for operator in written)} |")
    lines.append(
        f"| casts to | {' '.join(f'`{name}`' for name in sorted(CAST_TYPES - {'list', 'array'}))} and lists of them |"
    )
    return "\n".join(lines) + "\n"
