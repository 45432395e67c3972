"""Ray Data in and out, on a local Ray."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.engine import StopSignal
from pipeline.engine.block_cutter import BlockCutter
from pipeline.engine.ray_blocks import PartPlace
from pipeline.engine.ray_data import PACKAGE_ROOT
from pipeline.evaluation.carry_out import RunOptions
from pipeline.evaluation.score_files import FileScoring, prepare_folder
from pipeline.store.sources import cut_parts
from scorers import exact_match

# Ray Data warns of its own settings when it is used at all.
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore::Warning:ray")]

N_ROWS = 150_000


@pytest.fixture(scope="module")
def data(local_ray: None) -> Iterator[Any]:
    """`ray.data`, without its progress on the screen."""
    import ray.data

    context = ray.data.DataContext.get_current()
    before, context.enable_progress_bars = context.enable_progress_bars, False
    yield ray.data
    context.enable_progress_bars = before


@pytest.fixture
def store(tmp_path: Path) -> pipeline.Store:
    return pipeline.Store(tmp_path / "store")


ROWS = pa.table(
    {
        "id": range(N_ROWS),
        "text": [f"row {i} " * 3 for i in range(N_ROWS)],
        "kind": pa.array([f"k{i % 7}" for i in range(N_ROWS)]).dictionary_encode(),
        "number": pa.array([None if i % 3 else i / 2 for i in range(N_ROWS)], pa.float64()),
    }
)


def test_the_same_rows_are_the_same_revision_as_by_upload_however_blocks_are_cut(data, store) -> None:
    uploaded = pipeline.DatasetClient(store).upload("a", ROWS)
    blocks = data.from_arrow([ROWS.slice(first, 33_333) for first in range(0, N_ROWS, 33_333)])
    before = blocks.context.execution_options.preserve_order
    written = pipeline.from_ray_dataset(blocks, "b", store=store)
    assert written == pipeline.DatasetRevisionRef(dataset_id="b", revision_id=uploaded.revision_id)
    assert pipeline.DatasetClient(store).resolve("b") == written
    assert blocks.context.execution_options.preserve_order is before


def test_parts_are_cut_by_bytes_where_an_upload_would_cut_them(data, store) -> None:
    import ray

    rows = pa.table({"text": ["x" * (i % 90) for i in range(500)]})
    cutter = BlockCutter(PartPlace(store, "a", rows.schema, {}, part_bytes=4_000), PACKAGE_ROOT)
    for first, end in [(0, 7), (7, 300), (300, 500)]:
        block = rows.slice(first, end - first)
        cutter.add(ray.put(block), 0, end - first, block.nbytes)
    expected = [part.num_rows for part in cut_parts([rows], n_bytes=4_000)]
    assert [part.rows for part in cutter.finish()] == expected
    assert len(expected) > 3


@pytest.mark.slow
def test_parts_of_large_rows_are_those_of_an_upload(data, store) -> None:
    rows = pa.table({"text": ["x" * 3_000_000 for _ in range(100)]})
    uploaded = pipeline.DatasetClient(store).upload("a", rows)
    written = pipeline.from_ray_dataset(data.from_arrow([rows.slice(0, 95), rows.slice(95)]), "b", store=store)
    assert written.revision_id == uploaded.revision_id


def test_a_frame_with_an_index_and_made_rows_come_as_by_upload(data, store) -> None:
    import pandas as pd

    client = pipeline.DatasetClient(store)
    frame = pd.DataFrame({"id": range(100), "text": list("wxyz") * 25}).iloc[::2]
    written = pipeline.from_ray_dataset(data.from_pandas([frame.iloc[:30], frame.iloc[30:]]), "p", store=store)
    assert written.revision_id == client.upload("q", frame).revision_id
    made = data.range(10, override_num_blocks=3).map(lambda row: {"id": row["id"], "twice": 2 * row["id"]})
    assert client.read(pipeline.from_ray_dataset(made, "m", store=store)).to_pylist() == [
        {"id": i, "twice": 2 * i} for i in range(10)
    ]


def test_no_rows_are_a_revision_of_no_rows(data, store) -> None:
    empty = pa.table({"x": pa.array([], pa.int32())})
    written = pipeline.from_ray_dataset(data.from_arrow(empty), "e", store=store)
    assert written.revision_id == pipeline.DatasetClient(store).upload("f", empty).revision_id


def fail_late(block: dict[str, Any]) -> dict[str, Any]:
    if block["id"][0] > 4:
        raise ValueError("no such thing")
    return block


def test_a_block_that_fails_leaves_nothing_that_can_be_seen(data, store) -> None:
    failing = data.range(10, override_num_blocks=2).map_batches(fail_late)
    failing.context.max_errored_blocks = 5  # rows would be left out without a word
    with pytest.raises(pipeline.DatasetError, match=r"the Ray dataset failed .*ValueError: no such thing"):
        pipeline.from_ray_dataset(failing, "bad", store=store)
    assert failing.context.max_errored_blocks == 5
    assert store.list("datasets/bad/heads") == store.list("revisions") == []


def test_rows_that_cannot_be_stored_are_refused_by_column(data, store) -> None:
    ints, texts, nulls = pa.table({"x": [1]}), pa.table({"x": ["a"]}), pa.table({"x": pa.nulls(2)})
    refused = [
        (data.from_items([{"thing": object()}]), "column 'thing' holds Python objects"),
        (data.from_numpy(np.zeros((2, 3, 4))), "column 'data' holds arrays of several dimensions"),
        (data.from_arrow([ints, texts]), "column 'x' is int64 in the first block and string in another"),
        (data.from_arrow([nulls, ints]), "column 'x' is null in the first block and int64 in another; .*schema="),
        (data.from_arrow([ints, pa.table({"y": [1]})]), "its first block has the columns x, another one y"),
    ]
    for dataset, message in refused:
        with pytest.raises(pipeline.DatasetError, match=message):
            pipeline.from_ray_dataset(dataset, "bad", store=store)
    given = pipeline.from_ray_dataset(
        data.from_arrow([nulls, ints]), "good", schema=pa.schema({"x": pa.int64()}), store=store
    )
    assert pipeline.DatasetClient(store).read(given)["x"].to_pylist() == [None, None, 1]


def test_what_is_wrong_whatever_the_rows_are_is_said_before_any_work(data, store) -> None:
    with pytest.raises(pipeline.EngineError, match=r"memory://x is in the memory of this process"):
        pipeline.from_ray_dataset(data.range(1), "a", store="memory://x")
    with pytest.raises(TypeError, match=r"takes a ray\.data\.Dataset; found Table: DatasetClient.upload takes"):
        pipeline.from_ray_dataset(pa.table({"x": [1]}), "a", store=store)
    with pytest.raises(pipeline.InputError, match="name 'No Name' is not allowed"):
        pipeline.from_ray_dataset(data.range(1), "No Name", store=store)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parts in two folders."""
    folder = tmp_path_factory.mktemp("result")
    rows = {"id": range(80_000), "family": ["a", "b"] * 40_000, "answer": ["x"] * 80_000, "gold": ["x", "y"] * 40_000}
    pq.write_table(pa.table(rows), folder / "rows.parquet")
    scoring = FileScoring(
        [str(folder / "rows.parquet")],
        [exact_match()],
        output_column="answer",
        expected_column="gold",
        partition_by=("family",),
    )
    prepare_folder(scoring, folder / "out").carry_out(RunOptions(engine="inline"), StopSignal())
    return folder / "out"


def test_a_result_is_read_by_the_tasks_and_comes_back_whole(data, result: Path, store) -> None:
    scores = pipeline.read_results(result, columns=["id", "exact-match_value"])
    dataset = scores.to_ray_dataset()
    assert "table" not in vars(scores), "the rows were read here"
    assert (dataset.count(), dataset.schema().names) == (80_000, ["id", "exact-match_value"])
    back = pipeline.DatasetClient(store).read(pipeline.from_ray_dataset(dataset, "back", store=store))
    assert back.equals(scores.table)


def test_the_tasks_select_rows_and_check_digests(data, result: Path, tmp_path: Path) -> None:
    chosen = pipeline.read_results(result, columns=["id"], where="family = 'b' AND id > 79000").to_ray_dataset()
    assert sorted(row["id"] for row in chosen.take_all()) == list(range(79_001, 80_000, 2))
    file = next((result / "data" / "family=a").glob("*.parquet"))
    before = file.read_bytes()
    file.write_bytes(before[:-1] + b"?")
    try:
        with pytest.raises(Exception, match="damaged or replaced"):
            pipeline.read_results(result).to_ray_dataset().materialize()
    finally:
        file.write_bytes(before)


def test_scores_in_hand_become_a_dataset_too(data) -> None:
    rows = {"answer": ["a", "b"], "gold": ["a", "c"]}
    scores = pipeline.score(rows, scorers=[exact_match()], output="answer", expected="gold")
    assert [row["exact-match_value"] for row in scores.to_ray_dataset().take_all()] == [1.0, 0.0]


@pytest.mark.slow
def test_a_local_ray_is_announced_and_says_nothing_else(tmp_path: Path) -> None:
    code = (
        "import pipeline, scorers\n"
        "rows = {'answer': ['a', 'b'], 'gold': ['a', 'c']}\n"
        "scores = pipeline.score(rows, scorers=[scorers.exact_match()], output='answer', expected='gold')\n"
        "print(sum(row['exact-match_value'] for row in scores.to_ray_dataset().take_all()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert (done.returncode, done.stdout) == (0, "1.0\n"), done.stderr
    assert done.stderr.splitlines() == [
        "assay: a local Ray was started, which ends with this process; call ray.init() before for another"
    ]
