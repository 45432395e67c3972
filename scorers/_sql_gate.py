"""The gate: which SQL expressions may run. Walks DuckDB's own syntax tree; whatever is not on the lists is refused.

What runs is never the user's text: it is written anew from the tree that passed, with columns under names of our own.
Knows no data and no limits of time or memory; `_sql_child` has those.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from scorers._sql_allowed import (
    CAST_TYPES,
    FUNCTIONS,
    NODE_TYPES,
    OPERATOR_FUNCTIONS,
    REASONS,
    REFUSED_CLASSES,
)

TABLE = "part"  # the one table, by the name that the rewritten expression reads it under

_Node = dict[str, Any]

_BASE_KEYS = {"class", "type", "alias", "query_location", "query_location_length"}
_FUNCTION_PLAIN: _Node = {"schema": "", "catalog": "", "filter": None, "distinct": False, "export_state": False}
_FUNCTION_KEYS = {"function_name", "arguments", "order_bys", "is_operator", "qualified_name", "is_legacy_function_call"}
# The members that a node of a class may have; another one is a feature that this gate does not know.
_KEYS: dict[str, set[str]] = {
    "BETWEEN": {"input", "lower", "upper"},
    "CASE": {"case_checks", "else_expr"},
    "CAST": {"child", "try_cast", "type_expr"},
    "COLUMN_REF": {"column_names"},
    "COMPARISON": {"left", "right"},
    "CONJUNCTION": {"children"},
    "CONSTANT": {"literal"},
    "FUNCTION": _FUNCTION_KEYS | set(_FUNCTION_PLAIN),
    "LAMBDA": {"lhs", "expr", "syntax_type"},
    "OPERATOR": {"children"},
}
_SELECT_PLAIN: _Node = {
    "modifiers": [],
    "cte_map": {"map": []},
    "where_clause": None,
    "group_expressions": [],
    "group_sets": [],
    "aggregate_handling": "STANDARD_HANDLING",
    "having": None,
    "sample": None,
    "qualify": None,
}
_FROM_PLAIN: _Node = {
    "type": "BASE_TABLE",
    "alias": "",
    "sample": None,
    "schema_name": "",
    "catalog_name": "",
    "table_name": TABLE,
    "column_name_alias": [],
    "at_clause": None,
}


class Connection(Protocol):
    """What the gate needs of a DuckDB connection: a statement with parameters, and its rows."""

    def execute(self, query: str, parameters: object = None) -> Any: ...


class Admitted(NamedTuple):
    """An expression that may run."""

    sql: str
    """The expression, written anew; its columns are called `column_name(i)`."""
    columns: tuple[str, ...]
    """The columns that it reads, in order of first use."""
    tree: dict[str, Any]
    """What passed, as DuckDB serialises it, with the same names of columns."""


def column_name(position: int) -> str:
    """What the column at a position of the table is called in an admitted expression."""
    return f"__column_{position}__"


def admit(connection: Connection, expression: str, columns: Sequence[str]) -> Admitted:
    """Let an expression through, or say what in it is not allowed.

    Args:
        columns: the names of all columns there are. A reference that equals one means it; else case does not count.

    Raises:
        ValueError: what is not allowed, or the column that is not known and the nearest that is.
    """
    # The line breaks keep a comment at the end of the expression from eating the bracket.
    tree = _parsed(connection, expression)
    item = _select_item(tree)
    item["alias"] = ""
    walk = _Walk(columns)
    walk.node(item)
    _serialised(connection, f"SELECT\n{expression}\nAS v FROM {TABLE}")  # `a) OR (b` is none without our brackets
    text = _call(connection, "json_deserialize_sql", json.dumps(tree))
    select, from_ = "SELECT ", f" FROM {TABLE}"
    if not (text.startswith(select) and text.endswith(from_)):
        raise ValueError("the expression cannot be written anew; simplify it")
    return Admitted(text[len(select) : -len(from_)], tuple(walk.read), item)


def _parsed(connection: Connection, expression: str) -> _Node:
    try:
        return _serialised(connection, f"SELECT (\n{expression}\n) AS v FROM {TABLE}")
    except ValueError:
        _serialised(connection, f"SELECT\n{expression}")  # what is wrong, without our bracket in the message
        raise


def _call(connection: Connection, function: str, text: str) -> str:
    # fetchall: a result that is not read to its end blocks the connection.
    ((answer,),) = connection.execute(f"SELECT {function}(?)", [text]).fetchall()
    return str(answer)


def _serialised(connection: Connection, query: str) -> _Node:
    tree: _Node = json.loads(_call(connection, "json_serialize_sql", query))
    if tree["error"]:
        message = str(tree["error_message"]).split("\n")[0]
        if "expression depth" in message:
            raise ValueError("the expression is nested too deeply (terms of a long sum nest too); shorten it")
        if "Only SELECT" in message:
            raise ValueError("only one expression is allowed, no statement")
        raise ValueError(f"the expression cannot be read as one SQL expression: {message}")
    return tree


def _select_item(tree: _Node) -> _Node:
    statements = tree["statements"]
    if len(statements) != 1:
        raise ValueError(f"only one expression is allowed; found {len(statements)} statements")
    node = statements[0]["node"]
    if node["type"] != "SELECT_NODE":
        raise ValueError(
            "only one expression is allowed; this one closes its bracket and adds a query (UNION or the like)"
        )
    items, table = node.get("select_list", []), _without_location(node.get("from_table", {}))
    if len(items) != 1:
        raise ValueError(f"only one expression is allowed; found {len(items)} select items")
    expected = _SELECT_PLAIN | {"select_list": items, "from_table": node["from_table"], "type": "SELECT_NODE"}
    clauses = sorted(key for key in node if key not in expected or node[key] != expected[key])
    if clauses:
        raise ValueError(f"only one expression is allowed; this one closes its bracket and adds {', '.join(clauses)}")
    table.pop("qualified_name", None)
    if table != _FROM_PLAIN:
        raise ValueError("only one expression is allowed; this one closes its bracket and adds another FROM")
    item: _Node = items[0]
    if item["alias"] != "v":
        raise ValueError(f"an alias ({item['alias']!r}) is not allowed; the name of the scorer names the column")
    return item


def _without_location(node: _Node) -> _Node:
    return {key: value for key, value in node.items() if not key.startswith("query_location")}


class _Walk:
    """One walk over a tree. Renames the columns in place."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self.read: dict[str, None] = {}
        self._handlers: dict[str, Callable[[_Node], Iterable[_Node]]] = {
            "BETWEEN": lambda node: (node["input"], node["lower"], node["upper"]),
            "CASE": _case_parts,
            "CAST": _cast_parts,
            "COLUMN_REF": self._rename,
            "COMPARISON": lambda node: (node["left"], node["right"]),
            "CONJUNCTION": lambda node: node["children"],
            "CONSTANT": lambda _: (),
            "FUNCTION": _call_parts,
            "LAMBDA": _arrow_parts,
            "OPERATOR": lambda node: node["children"],
        }

    def node(self, node: _Node) -> None:
        """Check a node and all below it."""
        kind = node["class"]
        if kind not in self._handlers:
            raise ValueError(f"{REFUSED_CLASSES.get(kind, kind)} is not allowed in a SQL scorer")
        if node["type"] not in NODE_TYPES[kind]:
            raise ValueError(f"the operator {node['type']} is not allowed in a SQL scorer")
        if node["alias"]:
            raise ValueError(f"an alias or argument name ({node['alias']!r}) is not allowed in a SQL scorer")
        unknown = set(node) - _BASE_KEYS - _KEYS[kind]
        if unknown:
            raise ValueError(f"{kind} with {', '.join(sorted(unknown))} is not allowed in a SQL scorer")
        for part in self._handlers[kind](node):
            self.node(part)

    def _rename(self, node: _Node) -> tuple[_Node, ...]:
        first, *fields = node["column_names"]
        name = _resolve(first, self._columns)
        self.read[name] = None
        node["column_names"] = [column_name(self._columns.index(name)), *fields]
        return ()


def _resolve(name: str, columns: Sequence[str]) -> str:
    if columns.count(name) > 1:
        raise ValueError(f"there are {columns.count(name)} columns called {name!r}; rename all but one")
    if name in columns:
        return name
    alike = [column for column in columns if column.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise ValueError(
            f"column {name!r} may be any of {', '.join(map(repr, alike))}; write it as it is spelt, quoted"
        )
    folded = {column.casefold(): column for column in columns}
    close = [folded[key] for key in difflib.get_close_matches(name.casefold(), folded, n=2)]
    hint = (
        f"; did you mean {' or '.join(map(repr, close))}?" if close else f"; known: {', '.join(sorted(columns)[:20])}"
    )
    raise ValueError(f"unknown column {name!r}{hint} (text is written in single quotes)")


def _case_parts(node: _Node) -> Iterable[_Node]:
    for check in node["case_checks"]:
        yield check["when_expr"]
        yield check["then_expr"]
    yield node["else_expr"]


def _cast_parts(node: _Node) -> Iterable[_Node]:
    _check_type(node["type_expr"])
    return (node["child"],)


def _check_type(node: _Node) -> None:
    name = str(node.get("type_name", node["class"]))
    if node.get("catalog") or node.get("schema") or name.lower() not in CAST_TYPES:
        raise ValueError(
            f"a cast to {name} is not allowed in a SQL scorer; use DOUBLE, BIGINT, VARCHAR, DATE or the like"
        )
    for child in node["children"]:
        if child["class"] != "CONSTANT":
            _check_type(child)


def _call_parts(node: _Node) -> Iterable[_Node]:
    name = str(node["function_name"]).lower()
    if len(node["qualified_name"]["path"]) != 1 or node["schema"] or node["catalog"]:
        raise ValueError(
            f"{'.'.join(node['qualified_name']['path'])}() is not allowed; write {name}(x), without a prefix"
        )
    if name not in FUNCTIONS and name not in OPERATOR_FUNCTIONS:
        raise ValueError(f"function {name} is not allowed in a SQL scorer{_why(name)} (allowed: scorers/SQL.md)")
    changed = [key for key, plain in _FUNCTION_PLAIN.items() if node[key] != plain]
    if changed or node["order_bys"]["orders"]:
        raise ValueError(f"{name} with {', '.join(changed or ['ORDER BY']).upper()} is not allowed in a SQL scorer")
    for argument in node["arguments"]:
        if argument["name"]:
            raise ValueError(f"an argument name ({argument['name']!r}) is not allowed in a SQL scorer")
        yield argument["expression"]


def _why(name: str) -> str:
    for reason, names in REASONS.items():
        if name in names:
            return f": {reason}"
    close = difflib.get_close_matches(name, FUNCTIONS, n=2)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _arrow_parts(node: _Node) -> Iterable[_Node]:
    # DuckDB reads `a -> b` as a lambda first. No function on the list takes one, so here it is JSON's arrow.
    if node["syntax_type"] != "SINGLE_ARROW":
        raise ValueError(f"{REFUSED_CLASSES['LAMBDA']} is not allowed in a SQL scorer")
    return (node["lhs"], node["expr"])
