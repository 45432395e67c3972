from hypothesis import given
from hypothesis import strategies as st

from pipeline.records.summary import OutputSums, PartSums, ScoreSums, summarise


def part(*values: float | None, failed: int = 0) -> dict:
    scored = [value for value in values if value is not None]
    sums = ScoreSums(
        n=len(scored),
        total=sum(scored),
        abstained=len(values) - len(scored),
        failed_by_owner={"judge": failed} if failed else {},
        outside=sum(not 0 <= value <= 1 for value in scored),
        minimum=min(scored, default=None),
        maximum=max(scored, default=None),
    )
    return PartSums(output=OutputSums(ok=len(values) + failed), scores={"s": sums}).model_dump(mode="json")


def test_the_mean_is_taken_over_rows_with_a_score_and_the_bounds_over_all_rows():
    (scorer,) = summarise(4, ["s"], [part(1.0, 0.0), part(1.0, None)]).scorers
    assert (scorer.n, scorer.coverage, scorer.mean) == (3, 0.75, 2 / 3)
    assert (scorer.lower, scorer.upper) == (0.5, 0.75)
    assert scorer.abstained == 1


def test_a_failed_row_stays_in_the_denominator_of_both_bounds():
    (scorer,) = summarise(3, ["s"], [part(1.0, failed=2)]).scorers
    assert (scorer.mean, scorer.lower, scorer.upper) == (1.0, 1 / 3, 1.0)
    assert (scorer.failed, scorer.failed_by_owner) == (2, {"judge": 2})


def test_no_score_at_all_is_null_and_not_zero():
    (scorer,) = summarise(2, ["s"], [part(None, None)]).scorers
    assert scorer.mean is None
    assert (scorer.lower, scorer.upper) == (0.0, 1.0)


def test_a_scorer_with_values_outside_the_unit_interval_has_a_mean_and_no_bounds():
    (scorer,) = summarise(2, ["s"], [part(7.5, 0.5)]).scorers
    assert (scorer.mean, scorer.lower, scorer.upper, scorer.outside) == (4.0, None, None, 1)
    assert (scorer.minimum, scorer.maximum) == (0.5, 7.5)


def test_a_sum_beyond_a_double_is_null():
    (scorer,) = summarise(2, ["s"], [part(1.7e308), part(1.7e308)]).scorers
    assert scorer.mean is None


@given(st.lists(st.floats(0, 1), max_size=20), st.integers(0, 5), st.integers(1, 4))
def test_another_failed_row_never_raises_the_lower_bound_nor_lowers_the_upper(values, failed, more):
    rows = len(values) + failed
    if rows == 0:
        return
    (before,) = summarise(rows, ["s"], [part(*values, failed=failed)]).scorers
    (after,) = summarise(rows + more, ["s"], [part(*values, failed=failed + more)]).scorers
    assert after.lower <= before.lower + 1e-12
    assert after.upper >= before.upper - 1e-12
