"""Conditions: which rows a SQL expression is true on."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from scorers._sql_condition import SqlCondition

ROWS = pa.table({"id": [1, 2, 3, 4], "text": ["4", "x", None, "7"], "Flag": [True, False, None, True]})


@pytest.fixture
def condition() -> Iterator[type[SqlCondition]]:
    """Conditions that are closed at the end."""
    made: list[SqlCondition] = []

    def make(text: str) -> SqlCondition:
        made.append(SqlCondition(text))
        return made[-1]

    yield make  # type: ignore[misc]
    for each in made:
        each.close()


def test_null_and_false_are_not_selected(condition) -> None:
    assert condition("flag").select(ROWS).mask.to_pylist() == [True, False, False, True]


def test_a_row_on_which_it_fails_is_not_selected_and_counted(condition) -> None:
    found = condition("CAST(text AS INTEGER) > 5").select(ROWS)
    assert (found.mask.to_pylist(), found.n_failed) == ([False, False, False, True], 1)
    assert len(condition("id = 1").select(ROWS.slice(0, 0)).mask) == 0


def test_a_check_tells_the_columns_that_are_read_under_their_own_names(condition) -> None:
    checked = condition("TEXT = 'a' OR Flag").check(ROWS.schema)
    assert checked.columns == ("text", "Flag")
    left, right = checked.tree["children"]
    assert left["left"]["column_names"] == ["text"]
    assert right["column_names"] == ["Flag"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("text", "yields VARCHAR, a condition"),
        ("idd = 1", "unknown column 'idd'; did you mean 'id'?"),
        ("id = 1; DROP TABLE x", "a semicolon is not allowed"),
        ("id IN (SELECT 1)", "a subquery (SELECT inside the expression, ANY, EXISTS) is not allowed"),
        ("  ", "is blank"),
    ],
)
def test_what_is_no_condition_on_one_row_is_refused(condition, text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        condition(text).check(ROWS.schema)
    assert message in str(caught.value)
    assert "SQL scorer" not in str(caught.value)
