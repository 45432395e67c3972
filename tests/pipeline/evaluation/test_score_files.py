from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.engine import StopSignal
from pipeline.errors import InputError
from pipeline.evaluation.carry_out import RunOptions
from pipeline.evaluation.score_files import FileScoring, prepare_folder, score_registered
from scorers import exact_match

CSV = "answer,gold,kind\n007,7,a\n1.0,1,a\ntrue,True,b\n12345678901234567890123,12345678901234567890999,b\nyes,yes,c\n"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(CSV)
    return path


def scoring(path: Path, **more: object) -> FileScoring:
    return FileScoring(  # type: ignore[arg-type]
        [str(path)], [exact_match()], output_column="answer", expected_column="gold", **more
    )


def carry_out(work: FileScoring, folder: Path) -> pipeline.Scores:
    prepare_folder(work, folder).carry_out(RunOptions(engine="inline"), StopSignal())
    return pipeline.read_results(folder)


def test_columns_of_a_csv_that_are_compared_are_text_as_it_stands(answers, tmp_path):
    found = carry_out(scoring(answers), tmp_path / "out")
    assert found.table["exact-match_value"].to_pylist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert found.table["answer"].to_pylist()[0] == "007"


def test_types_can_be_given_for_compared_columns_too(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text("answer;gold\n007;7\n")
    work = scoring(path, column_types={"answer": "int64", "gold": "int64"}, delimiter=";")
    assert carry_out(work, tmp_path / "out").table["exact-match_value"].to_pylist() == [1.0]


def test_a_finished_folder_holds_the_result_and_nothing_else(answers, tmp_path):
    carry_out(scoring(answers), tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["data", "manifest.json", "outcome.json", "plan.json", "receipt"]


def test_a_mistake_leaves_nothing_behind(answers, tmp_path):
    work = FileScoring([str(answers)], [exact_match(inputs=("answer", "nope"))], output_column="answer")
    with pytest.raises(pipeline.FunctionSignatureError, match="nope"):
        prepare_folder(work, tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*"))


def test_a_folder_with_other_things_in_it_is_refused(answers, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"not empty \(it has 'thesis.txt'\)"):
        prepare_folder(scoring(answers), tmp_path / "out")


def test_parts_can_be_cut_smaller_and_the_rows_are_the_same(answers, tmp_path):
    whole = carry_out(scoring(answers), tmp_path / "whole")
    cut = carry_out(scoring(answers, part_rows=2), tmp_path / "cut")
    assert len(list((tmp_path / "cut" / "receipt").iterdir())) == 3
    assert cut.table.equals(whole.table)


def test_an_own_scorer_that_takes_expected_is_told_the_columns_name(answers, tmp_path):
    @pipeline.function
    def close(output: str, expected: str) -> float:
        return 1.0

    work = FileScoring([str(answers)], [close], output_column="answer", expected_column="gold")
    with pytest.raises(InputError, match="call the parameter 'gold'"):
        prepare_folder(work, tmp_path / "out")


def test_files_scored_into_a_store_are_a_dataset_of_their_own_name(answers, tmp_path):
    client = pipeline.EvaluationClient(tmp_path / "store")
    run = score_registered(client, scoring(answers)).wait()
    assert [found.dataset_id for found in pipeline.DatasetClient(tmp_path / "store").list()] == ["answers"]
    assert score_registered(client, scoring(answers)).id == run.id


def test_a_partitioned_result_is_read_by_pandas_polars_pyarrow_and_duckdb(answers, tmp_path):
    import duckdb

    carry_out(scoring(answers, partition_by=["kind"]), tmp_path / "out")
    data = tmp_path / "out" / "data"
    files = pipeline.result_files(tmp_path / "out")
    assert len(files) == 3
    # The columns stay in the files, so that a reader need not look at the folders' names.
    assert len(pd.read_parquet(data, partitioning=None)) == 5
    assert pq.read_table(data, partitioning=None)["kind"].to_pylist().count("a") == 2
    assert sorted(pl.read_parquet(f"{data}/**/*.parquet")["kind"].to_list()) == ["a", "a", "b", "b", "c"]
    assert pl.read_parquet(files).height == 5
    with duckdb.connect() as connection:
        found = connection.execute(f"select kind, count(*) from '{data}/**/*.parquet' group by 1 order by 1").fetchall()
    assert found == [("a", 2), ("b", 2), ("c", 1)]
