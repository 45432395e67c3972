"""The run that a few characters stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.cli.lookup import find_run_id
from pipeline.errors import EvaluationNotFoundError, InputError
from pipeline.store import Store

FIRST, SECOND = "01K0000000ABCDEFGHJKMNPQRS", "01K0000000ABCDEFGHJKMNPQZZ"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    for run in (FIRST, SECOND):
        store.create(f"runs/{run}/run.json", b"{}")
    return store


def test_a_run_is_found_by_the_beginning_or_the_end_of_its_id(store: Store) -> None:
    assert [find_run_id(store, text) for text in ("pqrs", SECOND, "latest")] == [FIRST, SECOND, SECOND]


def test_what_stands_for_no_run_or_for_several_is_told_with_the_store(store: Store) -> None:
    with pytest.raises(
        InputError, match=f"'01K' stands for 2 runs of .*/store \\({SECOND}, {FIRST}\\); give more of one"
    ):
        find_run_id(store, "01K")
    with pytest.raises(EvaluationNotFoundError, match=r"no run '02' in .*/store"):
        find_run_id(store, "02")
