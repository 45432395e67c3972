"""Seed document 003, "Datasets": uploading, reading, referring to a revision."""

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline import DatasetClient, DatasetRevisionRef

RESERVED = (
    "output",
    "trace",
    "__chalk_evaluation_output",
    "__chalk_evaluation_row_id",
    "__chalk__session_id__",
    "__chalk__task_session_id__",
)


def answered(dataset, route_request, **options):
    return pipeline.Evaluation.create(
        "answered",
        dataset=dataset,
        task=route_request,
        scorers=[pipeline.scorers.sql("answered", """CASE WHEN "output" <> '' THEN 1.0 ELSE 0.0 END""")],
        **options,
    )


def test_several_parquet_files_become_one_revision(tmp_path, rows):
    spring, autumn = tmp_path / "spring.parquet", tmp_path / "autumn.parquet"
    pq.write_table(pa.Table.from_pylist(rows[:3]), spring)
    pq.write_table(pa.Table.from_pylist(rows[3:]), autumn)

    revision = DatasetClient().upload("library-desk", [spring, autumn])

    assert DatasetClient().read(revision).to_pylist() == rows


def test_rows_are_uploaded_with_progress(rows):
    seen: list[tuple[int, int]] = []

    DatasetClient().upload("library-desk", rows, on_progress=lambda done, total: seen.append((done, total)))

    assert seen
    assert seen[-1][0] == seen[-1][1] > 0
    assert seen == sorted(seen)


def test_a_part_size_and_a_time_limit_are_accepted(rows):
    revision = DatasetClient().upload("library-desk", rows, part_size_bytes=1024 * 1024, timeout=60.0)

    assert DatasetClient().read(revision, timeout=60.0).num_rows == 4


@pytest.mark.parametrize("form", ["table", "batch", "columns", "rows", "csv"])
def test_every_form_of_data_gives_the_same_rows(form, rows, tmp_path):
    table = pa.Table.from_pylist(rows)
    pyarrow.csv.write_csv(table, tmp_path / "requests.csv")
    data = {
        "table": table,
        "batch": table.to_batches()[0],
        "columns": table.to_pydict(),
        "rows": rows,
        "csv": str(tmp_path / "requests.csv"),
    }[form]

    assert DatasetClient().read(DatasetClient().upload("library-desk", data)).to_pylist() == rows


def test_a_dataframe_is_taken_as_it_is(rows):
    polars = pytest.importorskip("polars")

    revision = DatasetClient().upload("library-desk", polars.DataFrame(rows))

    assert DatasetClient().read(revision).to_pylist() == rows


def test_files_whose_schemas_differ_are_refused(tmp_path):
    pq.write_table(pa.table({"request": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"request": [1]}), tmp_path / "b.parquet")

    with pytest.raises(pipeline.DatasetError, match=r"request"):
        DatasetClient().upload("library-desk", [tmp_path / "a.parquet", tmp_path / "b.parquet"])


@pytest.mark.parametrize("name", RESERVED)
def test_a_reserved_column_is_refused_when_the_evaluation_is_created(name, route_request):
    dataset = DatasetClient().upload("reserved", [{"request": "May I borrow one atlas?", name: "x"}])

    with pytest.raises(ValueError, match=f'dataset column "{name}" is reserved by the evaluation runtime'):
        answered(dataset, route_request)


def test_a_revision_is_read_by_its_id_too(dataset, rows):
    assert DatasetClient().read(dataset.revision_id).to_pylist() == rows


def test_uploading_under_a_known_name_makes_another_revision(dataset, rows):
    second = DatasetClient().upload("library-desk", rows[:1])

    assert second.dataset_id == dataset.dataset_id
    assert second.revision_id != dataset.revision_id
    assert DatasetClient().read(dataset).num_rows == 4


def test_both_forms_of_a_reference_name_the_same_rows(dataset, route_request):
    exact = DatasetRevisionRef(dataset_id=dataset.dataset_id, revision_id=dataset.revision_id)
    newest = DatasetRevisionRef(dataset_name="library-desk")

    pinned = [answered(reference, route_request).dataset_revision_id for reference in (exact, newest)]

    assert pinned == [dataset.revision_id, dataset.revision_id]


def test_a_name_is_resolved_once_when_the_evaluation_is_created(dataset, rows, route_request):
    evaluation = answered(DatasetRevisionRef(dataset_name="library-desk"), route_request)

    DatasetClient().upload("library-desk", rows[:2])

    assert evaluation.refresh().dataset_revision_id == dataset.revision_id
    assert DatasetClient().read(evaluation.run().wait().result_dataset).num_rows == 4


@pytest.mark.parametrize(
    "ids",
    [
        {"dataset_name": "library-desk", "dataset_id": "library-desk", "revision_id": "r"},
        {"dataset_name": "library-desk", "revision_id": "r"},
        {"dataset_id": "library-desk"},
        {"revision_id": "r"},
        {},
    ],
)
def test_a_reference_is_one_form_or_the_other(ids):
    with pytest.raises(ValueError, match=r"dataset_id|revision_id"):
        DatasetRevisionRef(**ids)


def test_handles_of_other_clients_pass_straight_through(dataset, route_request):
    by_ids = SimpleNamespace(dataset_id=dataset.dataset_id, revision_id=dataset.revision_id)
    by_name = SimpleNamespace(dataset_name="library-desk")

    pinned = [answered(handle, route_request).dataset_revision_id for handle in (by_ids, by_name)]

    assert pinned == [dataset.revision_id, dataset.revision_id]
