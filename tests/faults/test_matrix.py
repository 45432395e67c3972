"""The short form of the matrix: one row of each fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix import Fault, Found, Matrix, cases, measure

pytestmark = pytest.mark.ray


@pytest.mark.parametrize("number", range(5), ids=["survived", "halved", "deadly", "timed", "unbound"])
@pytest.mark.timeout(600)  # each deadly row costs six starts of a worker
def test_the_right_owner_is_blamed_and_no_other_row_is_touched(number: int, tmp_path: Path) -> None:
    matrix = measure(1, tmp_path, [cases()[number]])
    assert matrix.wrong == []
    assert matrix.touched == []


def test_a_wrong_owner_and_a_touched_row_show_in_the_matrix() -> None:
    right, wrong = Found(Fault("task: raises", "model"), "model"), Found(Fault("scorer: raises", "judge"), "model")
    matrix = Matrix([right, right, right, wrong], ["row 'q1' differs"])
    assert matrix.right == 0.75
    assert matrix.wrong == [wrong]
    text = matrix.to_text()
    assert "| judge | 0 | 1 |" in text
    assert "4 faults, 75.0% with the right owner; 1 other rows or means touched." in text
    assert "- scorer: raises: judge, found model" in text
