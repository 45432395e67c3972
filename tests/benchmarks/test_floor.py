"""The script that the benchmark measures against computes what the scorers compute."""

import polars as pl
import pytest

import scorers


@pytest.fixture
def rows(beside, tmp_path):
    beside("rows").write_rows(tmp_path / "rows.parquet", 3_000)
    return pl.read_parquet(tmp_path / "rows.parquet")


def test_the_rows_are_unique_and_half_of_them_equal(rows):
    assert rows["output"].n_unique() == rows["expected"].n_unique() == 3_000
    assert 250 < rows["output"].str.len_chars().mean() < 310
    assert 0.45 < (rows["output"].str.strip_chars() == rows["expected"]).mean() < 0.65


def test_the_floor_agrees_with_the_scorers(rows, beside):
    floor = beside("floor")
    by_hand = floor.score(rows)

    for scorer in (
        scorers.exact_match(name="exact"),
        scorers.contains(inputs=("output", "needle")),
        scorers.regex_match(floor.PATTERN, name="regex"),
        scorers.levenshtein(),
    ):
        found = scorer.score(rows.to_arrow())
        assert 0.2 < by_hand[f"{scorer.name}_value"].mean() < 1.0
        assert pl.Series(found.value).to_list() == pytest.approx(by_hand[f"{scorer.name}_value"].to_list(), abs=1e-12)
        assert pl.Series(found.metadata).to_list() == by_hand[f"{scorer.name}_metadata"].to_list()


def test_files_of_other_first_rows_have_other_rows(rows, beside, tmp_path):
    beside("rows").write_rows(tmp_path / "more.parquet", 2_000, 3_000)
    more = pl.read_parquet(tmp_path / "more.parquet")
    assert more["id"].to_list() == list(range(3_000, 5_000))
    assert pl.concat([rows, more])["expected"].n_unique() == 5_000
