"""`sql(name, expression)`: a score as one SQL expression over a row. Loads neither pyarrow nor DuckDB."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorers._sql_evaluator import SqlEvaluator as SqlEvaluator

MAX_EXPRESSION_CHARS = 4000
VERSION = 1  # raised by hand when the same expression may give another value


@dataclass(frozen=True)
class SqlExpression:
    """One select item over the dataset's columns and `output`, and the name of its result column.

    Raises:
        TypeError: the name or the expression is not text.
        ValueError: the name is blank or has no letter or digit; the expression is blank, longer than 4,000 characters,
            or has a `;` (also inside a literal).
    """

    name: str
    """Labels the result column `<name>_value`; stripped."""
    expression: str
    """Stripped; must yield a number. Whether it does is found by `SqlEvaluator.check`."""

    def __post_init__(self) -> None:
        name, expression = _stripped(self.name, "name"), _stripped(self.expression, "expression")
        if not any(map(str.isalnum, name)):
            raise ValueError(f"the name of a SQL scorer needs a letter or digit; found {name!r}")
        if not expression:
            raise ValueError(f"SQL scorer {name!r} has a blank expression; write a select item, such as 1.0")
        if len(expression) > MAX_EXPRESSION_CHARS:
            raise ValueError(
                f"SQL scorer {name!r}: the expression has {len(expression)} characters; "
                f"at most {MAX_EXPRESSION_CHARS} are allowed"
            )
        if ";" in expression:
            raise ValueError(
                f"SQL scorer {name!r}: a semicolon is not allowed, also inside a literal; write chr(59) instead"
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "expression", expression)

    @property
    def version(self) -> str:
        """SHA-256 of what decides the result: the expression and the version of its evaluation."""
        return hashlib.sha256(json.dumps(["sql", VERSION, self.expression]).encode()).hexdigest()

    def to_json(self) -> dict[str, str]:
        """The scorer as it is written down in an evaluation."""
        return {"sql_name": self.name, "sql_expression": self.expression}


def sql(name: str, expression: str, /) -> SqlExpression:
    """A scorer that is one SQL expression, such as `CASE WHEN "output" <> '' THEN 1.0 ELSE 0.0 END`.

    Quote column names. The value is a number, not range-checked; NULL abstains. Allowed functions: `scorers/SQL.md`.
    """
    return SqlExpression(name, expression)


def _stripped(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"the {what} of a SQL scorer is text; found {type(text).__name__}")
    return text.strip()


def __getattr__(name: str) -> Any:
    """`SqlEvaluator`, loaded on first use: it needs pyarrow."""
    if name == "SqlEvaluator":
        from scorers._sql_evaluator import SqlEvaluator

        return SqlEvaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
