"""Reading a result with a condition: the same rows as a filter, of fewer files."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.engine import StopSignal
from pipeline.evaluation import find_result
from pipeline.evaluation.carry_out import RunOptions
from pipeline.evaluation.score_files import FileScoring, prepare_folder
from pipeline.evaluation.where import ReadTally
from scorers import exact_match

N_ROWS = 80_000  # of two parts; each of the eight files has one row group
FAMILIES = ["algebra", "sums/odd", None, "1"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four folders in two parts, and whole numbers that grow."""
    folder = tmp_path_factory.mktemp("where")
    rows = pa.table(
        {
            "id": range(N_ROWS),
            "family": [FAMILIES[i % 4] for i in range(N_ROWS)],
            "answer": [str(i % 7) for i in range(N_ROWS)],
            "gold": [str(i % 5) for i in range(N_ROWS)],
            "price": [float("nan") if i % 1000 == 1 else i / 8 for i in range(N_ROWS)],
        }
    )
    pq.write_table(rows, folder / "rows.parquet")
    scoring = FileScoring(
        [str(folder / "rows.parquet")],
        [exact_match()],
        output_column="answer",
        expected_column="gold",
        partition_by=("family",),
    )
    prepare_folder(scoring, folder / "out").carry_out(RunOptions(engine="inline"), StopSignal())
    return folder / "out"


def read(result: Path, where: str, columns: list[str] | None = None) -> tuple[pa.Table, ReadTally]:
    tally = ReadTally()
    return pa.concat_tables(find_result(result).read(columns, where).tables(tally)), tally


@pytest.mark.parametrize(
    "where, expected, files, groups",
    [
        ("family = 'sums/odd'", pl.col("family") == "sums/odd", 2, 2),
        ("family IS NULL AND id < 100", pl.col("family").is_null() & (pl.col("id") < 100), 2, 1),
        ("id BETWEEN 70000 AND 70009", pl.col("id").is_between(70000, 70009), 8, 4),
        ('"exact-match_value" = 1 OR family = \'1\'', (pl.col("exact-match_value") == 1) | (pl.col("family") == "1"),
         8, 8),
        ("price > 9999", pl.col("price") > 9999, 8, 8),
        ("family = 'nothing'", pl.lit(False), 0, 0),
    ],
)  # fmt: skip
def test_the_rows_are_those_of_a_filter(result, where: str, expected: pl.Expr, files: int, groups: int) -> None:
    found, tally = read(result, where)
    everything = pipeline.read_results(result).to_polars()
    assert pl.from_arrow(found)["id"].to_list() == everything.filter(expected)["id"].to_list()
    assert (tally.files, tally.files_read, tally.groups_read) == (8, files, groups)


def test_only_the_columns_that_were_asked_for_come_in_their_order(result) -> None:
    found, _ = read(result, "family = '1' AND id < 20", ["gold", "id"])
    assert found.to_pylist() == [{"gold": str(i % 5), "id": i} for i in range(3, 20, 4)]
    with pytest.raises(pipeline.InputError, match=r"no column 'golf'; did you mean 'gold'\?"):
        pipeline.read_results(result, columns=["golf"])


def test_rows_on_which_it_fails_are_left_out_and_counted(result) -> None:
    found, tally = read(result, "id < 8 AND CAST(family AS INTEGER) = 1", ["id"])
    assert found["id"].to_pylist() == [3, 7]
    assert tally.failed_rows > 0


def test_a_damaged_file_is_noticed_if_it_is_read_and_not_if_it_is_not(result, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(result, tmp_path / "out"))
    file = next((folder / "data" / "family=1").glob("*.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert read(folder, "family = 'algebra'")[0].num_rows == N_ROWS // 4
    with pytest.raises(pipeline.CorruptError, match="damaged or replaced"):
        read(folder, "family = '1'")


def test_a_summary_is_read_without_the_rows(result, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(result, tmp_path / "out"))
    scores = pipeline.read_results(folder)
    kept = pipeline.read_results(folder)
    assert len(kept) == N_ROWS
    shutil.rmtree(folder / "data")
    assert scores["exact-match"].n == N_ROWS
    assert kept.to_polars().height == N_ROWS
    with pytest.raises(pipeline.MissingError):
        scores.to_polars()


def test_a_read_travels_and_can_be_cut_into_parts(result) -> None:
    whole = find_result(result).read(["id"], "id > 65530 AND id < 65540")
    pieces = [pickle.loads(pickle.dumps(piece)) for piece in whole.pieces()]
    tables = [pa.concat_tables(piece.tables()) for piece in pieces]
    assert [table["id"].to_pylist() for table in tables] == [list(range(65531, 65536)), list(range(65536, 65540))]


def test_a_condition_is_checked_before_rows_are_asked_for(result) -> None:
    with pytest.raises(pipeline.InputError, match=r"where: unknown column 'famly'; did you mean 'family'\?"):
        pipeline.read_results(result, where="famly = 'x'")
    with pytest.raises(pipeline.InputError, match="where: yields VARCHAR"):
        next(pipeline.iter_results(result, where="family"))
