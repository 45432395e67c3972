"""A condition on the rows of a result, and what reading with it has come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.evaluation.bounds import Bounds
from pipeline.evaluation.may_match import may_be


@dataclass
class ReadTally:
    """What a read with a condition has come to so far."""

    files: int = 0
    """Of the result."""
    files_read: int = 0
    """Those that were opened: of the others, the folder says that the condition is true on none of their rows."""
    groups: int = 0
    """Row groups of the files that were opened."""
    groups_read: int = 0
    failed_rows: int = 0
    """Rows on which the condition failed; they are not selected."""

    def __str__(self) -> str:
        groups = f" ({self.groups_read} of their {self.groups} row groups)" if self.groups_read < self.groups else ""
        return f"read {self.files_read} of {self.files} files{groups}"


class Where:
    """A condition that was checked against the columns of a result. Pickles as what it is, without its process."""

    def __init__(self, text: str, columns: tuple[str, ...], tree: dict[str, Any]) -> None:
        """Take one that was checked; `checked` makes them. Nothing is started yet."""
        from scorers._sql_condition import SqlCondition

        self.text = text
        self.columns = columns
        """That it reads."""
        self._tree = tree
        self._condition = SqlCondition(text)

    def may_hold(self, bounds: Mapping[str, Bounds]) -> bool:
        """False only where it is true on no row within the bounds."""
        return may_be(self._tree, bounds).be_true

    def selected(self, rows: pa.Table, tally: ReadTally) -> pa.Table:
        """The rows on which it is true, evaluated in the child process of a SQL scorer."""
        found = self._condition.select(rows.select(list(self.columns)))
        tally.failed_rows += found.n_failed
        return rows.filter(found.mask)

    def close(self) -> None:
        """End the process; a later use starts another."""
        self._condition.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Where, (self.text, self.columns, self._tree)

    @classmethod
    def checked(cls, text: str, schema: pa.Schema) -> Self:
        """Check a boolean SQL expression; it may use what a SQL scorer may, and reaches no file.

        Raises:
            InputError: what is not allowed or not known in it, or what it yields in place of true and false.
        """
        from scorers._sql_condition import SqlCondition

        try:
            condition = SqlCondition(text)
            columns, tree = condition.check(schema)
        except ValueError as error:
            raise InputError(f"where: {error}") from None
        where = cls(text, columns, tree)
        where._condition = condition  # its process is there, the first rows need not wait for another
        return where
