from __future__ import annotations

from pipeline.evaluation.work_count import WorkCount


def test_a_row_is_done_when_all_its_calls_are():
    calls = 0
    count = WorkCount(2, lambda: calls)
    assert count.rows_in_work == 0
    calls = 10
    assert count.rows_in_work == 5
    calls = 20
    assert count.rows_in_work == 10
    count.add_evaluated(10, not_scored=0)
    assert count.rows_in_work == 10
    count.end_part(10)
    assert (count.rows_in_work, count.steps) == (0, 30)


def test_rows_without_output_and_rows_that_were_kept_leave_nothing_behind_at_the_end_of_their_part():
    calls = 0
    count = WorkCount(3, lambda: calls)  # a task and two scorers
    count.add_known(4)
    calls = 6 + 2 * 7  # the task for six rows more, of which three fail; the scorers for the other seven
    count.add_evaluated(10, not_scored=3)
    assert count.rows_in_work == 10
    count.end_part(10)
    assert count.rows_in_work == 0


def test_built_in_scorers_alone_count_evaluated_rows():
    count = WorkCount(0, lambda: 0)
    count.add_evaluated(7, not_scored=2)
    assert count.rows_in_work == 7
    count.end_part(7)
    assert count.rows_in_work == 0
