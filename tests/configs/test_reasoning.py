"""The rows and the solver of `configs/reasoning`: real tasks, no question twice, and every kind of outcome."""

import importlib
import random
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "configs" / "reasoning"


@pytest.fixture
def beside(monkeypatch):
    """Imports a file of the folder, as a script that lies in it would."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


@pytest.fixture
def rows(beside):
    return beside("make_rows").make_rows()


def test_twenty_thousand_questions_of_twenty_families_differ(rows):
    assert rows.num_rows == 20_000
    assert len(set(rows["question"].to_pylist())) == 20_000
    assert len(set(rows["id"].to_pylist())) == 20_000
    assert set(Counter(rows["family"].to_pylist()).values()) == {1_000}
    assert len(set(rows["family"].to_pylist())) == 20


def test_the_same_seed_gives_the_same_rows_whatever_was_drawn_before(beside):
    make_rows = beside("make_rows")
    first = list(make_rows.family_rows("word_sorting"))
    random.seed(99)

    assert list(make_rows.family_rows("word_sorting")) == first


def test_the_solver_is_right_wrong_and_at_a_loss(rows, beside):
    solve = beside("solver").solve
    outcomes: Counter[str] = Counter()
    for row in rows.slice(0, 1_000).to_pylist():
        try:
            outcomes["right" if solve(row["family"], row["question"]) == row["answer"] else "wrong"] += 1
        except ValueError:
            outcomes["failed"] += 1

    assert outcomes["right"] > outcomes["wrong"] > 50
    assert outcomes["failed"] > 50
