from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from part_workers import receipt_of

from pipeline.engine import Event, PartFailed, RowBlamed
from pipeline.engine.assignment import Assignment
from pipeline.engine.ledger import MAX_BLAMED_IN_A_ROW, Ledger
from pipeline.engine.outcome import Failure, Outcome
from pipeline.errors import EngineError, UnavailableError
from pipeline.records.plan import Part


class Crew:
    """Workers that die of poisonous rows, and now and then of nothing; the rows that were kept are remembered."""

    def __init__(self, sizes: list[int], poison: set[int], *, by_chance: int = 0, seed: int = 0) -> None:
        firsts = [sum(sizes[:index]) for index in range(len(sizes))]
        self.parts = [Part(index=i, first_row=f, rows=n) for i, (f, n) in enumerate(zip(firsts, sizes, strict=True))]
        self.events: list[Event] = []
        self.ledger = Ledger(self.parts, self.events.append)
        self.poison, self.kept, self.by_chance = poison, set[int](), by_chance
        self.n_calls = 0
        self._dice = random.Random(seed)

    def work(self) -> None:
        while not self.ledger.is_done:
            worker = self._dice.choice(["a", "b"])
            assignment = self.ledger.take(worker, is_alone=False) or self.ledger.take(worker, is_alone=True)
            assert assignment is not None, "a ledger that is not done has something that waits"
            self.n_calls += 1
            self._carry_out(assignment, worker)

    def _carry_out(self, assignment: Assignment, worker: str) -> None:
        rows = set(range(assignment.first_row, assignment.first_row + assignment.rows))
        if self.by_chance and self._dice.random() < 0.3:
            self.by_chance -= 1
            self.ledger.lose(assignment, "killed by chance", worker)
        elif assignment.lost is None and (rows - self.kept) & self.poison:
            self.ledger.lose(assignment, "died of a row", worker)
        elif assignment.is_whole:
            self.ledger.settle(assignment, Outcome(0.1, receipt_of(assignment.part, {})), worker)
        else:
            self.kept |= rows
            self.ledger.settle(assignment, Outcome(0.1), worker)

    @property
    def blamed(self) -> set[int]:
        return {event.row for event in self.events if isinstance(event, RowBlamed)}


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    poison=st.sets(st.integers(0, 199), max_size=6),
    by_chance=st.integers(0, 2),
    seed=st.integers(0, 1000),
)
def test_exactly_the_rows_that_end_their_workers_are_blamed_and_every_part_is_done(
    sizes: list[int], poison: set[int], by_chance: int, seed: int
) -> None:
    poison = {row for row in poison if row < sum(sizes)}
    crew = Crew(sizes, poison, by_chance=by_chance, seed=seed)
    crew.work()
    assert sorted(crew.ledger.receipts) == list(range(len(sizes)))
    assert crew.blamed == poison


def test_a_poisonous_row_among_65536_costs_a_call_a_halving_and_not_one_a_row() -> None:
    crew = Crew([65_536], {40_000})
    crew.work()
    assert crew.blamed == {40_000}
    assert crew.n_calls <= 3 + 2 * 16 + 3 + 1 + 1


def test_a_function_that_ends_its_worker_on_every_row_ends_the_run_and_not_the_day() -> None:
    crew = Crew([1_000], set(range(1_000)))
    with pytest.raises(EngineError, match=rf"{MAX_BLAMED_IN_A_ROW} rows one after the other ended their worker"):
        crew.work()
    assert len(crew.blamed) == MAX_BLAMED_IN_A_ROW


def test_rows_that_pass_between_the_poisonous_ones_let_the_run_go_on() -> None:
    poison = set(range(0, 100, 2))
    crew = Crew([100], poison)
    crew.work()
    assert crew.blamed == poison


def test_a_worker_gets_no_part_that_it_lost_while_others_live() -> None:
    crew = Crew([5, 5], set())
    first = crew.ledger.take("a", is_alone=False)
    assert first is not None
    crew.ledger.lose(first, "gone", "a")
    other = crew.ledger.take("a", is_alone=False)
    assert other is not None
    assert other.part.index == 1
    assert crew.ledger.take("a", is_alone=False) is None
    again = crew.ledger.take("b", is_alone=False)
    assert again is not None
    assert (again.part.index, again.attempt) == (0, 2)


def test_a_part_that_was_tried_before_waits_where_another_part_is_in_the_hand() -> None:
    crew = Crew([5], set())
    first = crew.ledger.take("a", is_alone=True)
    assert first is not None
    crew.ledger.lose(first, "gone", "a")
    assert crew.ledger.take("a", is_alone=True, is_fresh=True) is None


def test_a_fault_of_the_store_is_tried_again_but_its_rows_are_not_to_blame() -> None:
    crew = Crew([10], set())
    fault = Outcome(0.1, failure=Failure.of(UnavailableError("no answer in 60 s", key="data/x")))
    for _ in range(2):
        assignment = crew.ledger.take("a", is_alone=True)
        assert assignment is not None
        assert assignment.is_whole
        crew.ledger.settle(assignment, fault, "a")
    last = crew.ledger.take("a", is_alone=True)
    assert last is not None
    with pytest.raises(UnavailableError, match="no answer in 60 s"):
        crew.ledger.settle(last, fault, "a")


def test_a_part_without_the_memory_for_it_is_halved() -> None:
    crew = Crew([10], set())
    out_of_memory = Outcome(0.1, failure=Failure.of(MemoryError()))
    for _ in range(3):
        assignment = crew.ledger.take("a", is_alone=True)
        assert assignment is not None
        crew.ledger.settle(assignment, out_of_memory, "a")
    half = crew.ledger.take("a", is_alone=True)
    assert half is not None
    assert (half.is_whole, half.first_row, half.rows) == (False, 0, 5)
    assert [event.attempt for event in crew.events if isinstance(event, PartFailed)] == [1, 2, 3]
