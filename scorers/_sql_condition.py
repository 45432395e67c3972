"""`SqlCondition`: which rows a SQL expression is true on. Behind the gate and in the process of SQL scorers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from scorers._sql import SqlExpression
from scorers._sql_evaluator import SqlEvaluator

_NAME = "condition"
_AS_SCORER = re.compile(rf"^SQL scorer '{_NAME}'(?:: | )| in a SQL scorer")


class CheckedCondition(NamedTuple):
    """What is known of a condition once it was checked against the columns there are."""

    columns: tuple[str, ...]
    """The columns that it reads."""
    tree: dict[str, Any]
    """Its syntax tree, as DuckDB serialises it, with the columns under their own names."""


class Selected(NamedTuple):
    """Which rows a condition is true on."""

    mask: pa.Array
    """bool, one entry a row, no nulls: false also where the condition is null or fails."""
    n_failed: int
    """Rows on which it failed."""


class SqlCondition:
    """A boolean SQL expression over the columns of a row, with the limits of a SQL scorer.

    Safe for threads, which take turns. Close it, or use it as a context manager; a forgotten one ends its child too.
    """

    def __init__(self, text: str, *, deadline_s: float = 60.0) -> None:
        """Nothing is started yet.

        Raises:
            ValueError: blank, longer than 4,000 characters, or with a `;`.
        """
        if not text.strip():
            raise ValueError("is blank; write a condition, such as \"output\" <> ''")
        with _told_plainly():
            self._evaluator = SqlEvaluator([SqlExpression(_NAME, text)], deadline_s=deadline_s, are_conditions=True)

    def check(self, schema: pa.Schema) -> CheckedCondition:
        """Check it against the columns there are.

        Raises:
            ValueError: what is not allowed or not known, or what it yields in place of true and false.
        """
        with _told_plainly():
            columns = self._evaluator.check(schema)[_NAME]
        return CheckedCondition(columns, _with_names(self._evaluator.trees[_NAME], schema.names))

    def select(self, rows: pa.Table) -> Selected:
        """Which of the rows it is true on. Raises ValueError as `check`."""
        with _told_plainly():
            values, failed = self._evaluator.evaluate(rows)
        mask = pc.fill_null(pc.equal(values[_NAME], 1.0), False)
        return Selected(mask, int(pc.sum(failed[_NAME]).as_py() or 0))

    def close(self) -> None:
        """End the child process. A later call starts another one."""
        self._evaluator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _told_plainly() -> Iterator[None]:
    """What is said of a SQL scorer, said of a condition, whose name the caller knows."""
    try:
        yield
    except ValueError as error:
        raise ValueError(_AS_SCORER.sub("", str(error))) from None


def _with_names(node: Any, names: list[str]) -> Any:
    if isinstance(node, list):
        return [_with_names(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("class") == "COLUMN_REF":
        first, *fields = node["column_names"]
        return node | {"column_names": [names[int(first.removeprefix("__column_").removesuffix("__"))], *fields]}
    return {key: _with_names(value, names) for key, value in node.items()}
