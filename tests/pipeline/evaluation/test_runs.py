"""Runs of the real engine on a real folder, stopped in every way there is."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import pipeline
from pipeline.errors import EvaluationError, EvaluationRunFailedError, FailingRunError, InputError, PlanMismatchError
from pipeline.evaluation.catalog import Catalog
from pipeline.evaluation.results import ResultFolder
from pipeline.store import Store

# Sleeps on one row in every hundred: long enough to be stopped in the middle, the same result each time.
SLOW = """
import sys, time
import pipeline

@pipeline.function
def slow(n: int) -> str:
    if n % 100 == 0:
        time.sleep(0.02)
    return "even" if n % 2 == 0 else "odd"

def main(store, **run):
    client = pipeline.EvaluationClient(store)
    data = pipeline.DatasetClient(store).upload("numbers", {"n": list(range(30_000)), "want": ["even", "odd"] * 15_000})
    evaluation = client.create("slow", dataset=data, task=slow, reuse=True,
        scorers=[pipeline.scorers.exact_match(inputs=("output", "want"))])
    return client.run(evaluation.id, new=False, **run)

if __name__ == "__main__":
    run = main(sys.argv[1], engine="inline")
    print(run.id, flush=True)
    print(run.wait().status, flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "slow_program.py"
    path.write_text(SLOW)
    return path


def start(program: Path, store: Path) -> tuple[subprocess.Popen[str], str]:
    """The program, running, and the id of its run."""
    process = subprocess.Popen(
        [sys.executable, str(program), str(store)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def wait_for_receipts(store: Path, run: str, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(list((store / "runs" / run).glob("receipt/*.json"))) < count:
        assert time.monotonic() < deadline, "no receipt in a minute"
        time.sleep(0.005)


def index(store: Path, run: str) -> bytes:
    return (store / "runs" / run / "manifest.json").read_bytes()


@pytest.fixture
def undisturbed(program: Path, tmp_path: Path) -> bytes:
    process, run = start(program, tmp_path / "undisturbed")
    out, err = process.communicate(timeout=120)
    assert "SUCCEEDED" in out, err
    return index(tmp_path / "undisturbed", run)


def test_the_same_command_after_kill_9_goes_on_and_the_index_is_the_same_to_the_byte(program, tmp_path, undisturbed):
    store = tmp_path / "store"
    process, run = start(program, store)
    wait_for_receipts(store, run, 1)
    process.kill()
    process.communicate()
    before = {path: path.stat().st_mtime_ns for path in (store / "runs" / run).glob("receipt/*.json")}
    assert 1 <= len(before) < 4
    assert pipeline.EvaluationRun.from_id(run, store=store).status is pipeline.EvaluationRunStatus.FAILED

    process, again = start(program, store)
    out, err = process.communicate(timeout=120)
    assert (again, out.strip()) == (run, "EvaluationRunStatus.SUCCEEDED"), err
    assert {path: path.stat().st_mtime_ns for path in before} == before, "a part was done again"
    assert index(store, run) == undisturbed
    assert len(pipeline.read_results(run, store=store)) == 30_000


def test_ctrl_c_stops_the_run_and_keeps_what_is_done(program, tmp_path, undisturbed):
    store = tmp_path / "store"
    process, run = start(program, store)
    wait_for_receipts(store, run, 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    stopped = pipeline.EvaluationRun.from_id(run, store=store)
    assert stopped.status is pipeline.EvaluationRunStatus.CANCELED
    assert stopped.result_dataset is None

    process, again = start(program, store)
    process.communicate(timeout=120)
    assert again == run
    assert index(store, run) == undisturbed


def test_another_process_cancels_and_the_run_can_be_resumed(program, tmp_path):
    store = tmp_path / "store"
    process, run = start(program, store)
    wait_for_receipts(store, run, 1)
    pipeline.EvaluationRun.from_id(run, store=store).cancel()
    process.communicate(timeout=60)
    assert pipeline.EvaluationRun.from_id(run, store=store).status is pipeline.EvaluationRunStatus.CANCELED
    environment = {**os.environ, "ASSAY_TRUST": str(store)}
    resumed = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "resume", run, "--store", str(store), "--engine", "inline", "--json"],
        capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["status"] == "succeeded"


def test_a_live_run_is_not_driven_by_a_second_process(program, tmp_path):
    store = tmp_path / "store"
    process, run = start(program, store)
    wait_for_receipts(store, run, 1)
    with pytest.raises(EvaluationError, match=f"driven by process {process.pid}"):
        pipeline.EvaluationClient(store).resume(run)
    process.kill()
    process.communicate()


@pytest.fixture
def data(tmp_path: Path) -> tuple[Path, pipeline.DatasetRevisionRef]:
    store = tmp_path / "store"
    rows = {"output": [f"word {i}" for i in range(20)], "expected": [f"word {i - i % 2}" for i in range(20)]}
    return store, pipeline.DatasetClient(store).upload("words", rows)


def create(store: Path, ref: pipeline.DatasetRevisionRef, **more: object) -> pipeline.Evaluation:
    arguments: dict[str, object] = {
        "dataset": ref, "task": None, "output_column": "output", "scorers": [pipeline.scorers.exact_match()],
    }  # fmt: skip
    return pipeline.Evaluation.create("words", store=store, **(arguments | more))  # type: ignore[arg-type]


def test_a_finished_run_is_returned_and_not_done_again(data):
    store, ref = data
    client = pipeline.EvaluationClient(store)
    evaluation = create(store, ref)
    first = client.run(evaluation.id, new=False).wait()
    second = client.run(evaluation.id, new=False)
    assert second.id == first.id
    assert second.status is pipeline.EvaluationRunStatus.SUCCEEDED
    assert client.run(evaluation.id).wait().id != first.id


def test_two_runs_of_one_definition_have_one_result_revision(data):
    store, ref = data
    evaluation = create(store, ref)
    first, second = evaluation.run().wait(), evaluation.run().wait()
    assert first.id != second.id
    assert index(store, first.id) == index(store, second.id)
    assert first.result_dataset.revision_id == second.result_dataset.revision_id
    assert [run.id for run in evaluation.runs()] == [second.id, first.id]


def test_a_partitioned_result_is_read_in_the_order_of_the_dataset(data):
    store, ref = data
    run = create(store, ref, partition_by=["expected"]).run().wait()
    files = pipeline.result_files(run)
    assert len(files) == 10
    assert all("/data/expected=word%20" in file or "/data/expected=word " in file for file in files)
    wanted = [f"word {i}" for i in range(20)]
    assert pipeline.read_results(run).table["output"].to_pylist() == wanted
    assert pipeline.DatasetClient(store).read(run.result_dataset)["output"].to_pylist() == wanted


def test_a_result_that_was_touched_is_refused_by_name(data):
    store, ref = data
    run = create(store, ref).run().wait()
    (file,) = pipeline.result_files(run)
    bytes_ = bytearray(Path(file).read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    Path(file).write_bytes(bytes_)
    with pytest.raises(pipeline.CorruptError, match=Path(file).name):
        _ = pipeline.read_results(run).table  # read when it is asked for


def test_another_plan_at_the_same_place_is_refused_with_the_field_that_differs(data, tmp_path):
    import pyarrow.parquet as pq

    from pipeline.engine import StopSignal
    from pipeline.evaluation.carry_out import RunOptions
    from pipeline.evaluation.score_files import FileScoring, prepare_folder

    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"output": ["a"], "expected": ["a"]}), file)
    folder = tmp_path / "folder"
    for scorer in (pipeline.scorers.exact_match(), pipeline.scorers.contains()):
        work = prepare_folder(FileScoring([str(file)], [scorer]), folder)
        if scorer.name == "contains":
            with pytest.raises(PlanMismatchError, match="scorers have changed, or are others"):
                work.carry_out(RunOptions(engine="inline"), StopSignal())
        else:
            assert work.carry_out(RunOptions(engine="inline"), StopSignal()).rows == 1


def test_more_failures_than_allowed_end_the_run(data):
    store, ref = data

    @pipeline.function
    def fail(output: str) -> float:
        raise ValueError(output)

    run = create(store, ref, scorers=[fail]).run(max_failures=3)
    with pytest.raises(EvaluationRunFailedError, match=r"20 failures \(20 judge\), more than max_failures=3"):
        run.wait()


def test_a_dataset_without_rows_is_refused_before_a_run_exists(tmp_path):
    ref = pipeline.DatasetClient(tmp_path).upload("none", pa.table({"output": pa.array([], pa.string())}))
    evaluation = create(tmp_path, ref, scorers=[pipeline.scorers.json_valid()])
    with pytest.raises(InputError, match="has no rows"):
        evaluation.run()
    assert list(evaluation.runs()) == []


def test_a_handle_made_by_hand_has_no_client(data):
    run = pipeline.EvaluationRun(id="x", evaluation_id="y", status=pipeline.EvaluationRunStatus.PENDING)
    with pytest.raises(EvaluationError, match="made by hand"):
        run.refresh()


def test_progress_is_reported_up_to_the_last_row(data):
    store, ref = data
    seen: list[pipeline.evaluation.RunProgress] = []
    create(store, ref).run(on_progress=seen.append).wait()
    assert (seen[-1].rows_done, seen[-1].rows, seen[-1].parts_done) == (20, 20, 1)
    assert seen[-1].status is pipeline.EvaluationRunStatus.SUCCEEDED


def test_a_run_that_succeeds_while_it_is_looked_at_has_its_summary(data, monkeypatch):
    store, ref = data
    run = create(store, ref).run().wait()
    outcomes = [None, Catalog.outcome(Catalog(Store(store)), run.id)]
    monkeypatch.setattr(Catalog, "outcome", lambda self, run_id: outcomes.pop(0))
    seen = pipeline.EvaluationClient(store).get_run(run.id)
    assert seen.status is pipeline.EvaluationRunStatus.SUCCEEDED
    assert seen.summary is not None
    assert seen.summary.rows == 20


@pytest.mark.parametrize("engine", ["inline", pytest.param("ray", marks=pytest.mark.ray)])
def test_progress_counts_rows_inside_a_part(tmp_path, engine):
    @pipeline.function(concurrency=4)
    async def slow(n: int) -> str:
        import asyncio

        await asyncio.sleep(0.4)
        return str(n)

    ref = pipeline.DatasetClient(tmp_path).upload("numbers", pa.table({"n": range(60), "expected": ["1"] * 60}))
    seen: list[pipeline.evaluation.RunProgress] = []
    evaluation = create(tmp_path, ref, task=slow, output_column=None)
    evaluation.run(engine=engine, workers=1, on_progress=seen.append).wait()
    inside = [progress for progress in seen if not progress.parts_done and progress.rows_in_work]
    assert inside, "nothing was told before the part was done"
    assert all(0 < progress.rows_in_work < 60 and progress.rate and progress.eta_s for progress in inside)
    shown = [progress.rows_done + progress.rows_in_work for progress in seen]
    assert shown == sorted(shown)
    assert shown[-1] == 60


def test_a_run_needs_no_listing_to_be_read(data):
    store, ref = data
    run = create(store, ref).run().wait()
    folder = ResultFolder(Store(store), f"runs/{run.id}")
    assert folder.manifest().rows == 20
    assert sum(len(table) for table in folder.tables(["output"])) == 20


def test_the_first_failures_alike_end_a_run_with_their_text(tmp_path):
    @pipeline.function
    def broken(n: int) -> str:
        raise RuntimeError("no such model")

    ref = pipeline.DatasetClient(tmp_path).upload("many", {"n": list(range(150))})
    evaluation = create(tmp_path, ref, task=broken, output_column=None, scorers=[pipeline.scorers.json_valid()])
    run = evaluation.run().wait(raise_on_failure=False)
    assert run.status is pipeline.EvaluationRunStatus.FAILED
    assert "no such model" in run.error_message
    assert issubclass(FailingRunError, pipeline.AssayError)


def test_a_run_that_was_ended_by_its_failures_is_not_committed_by_the_next_try(data):
    store, ref = data

    @pipeline.function
    def fail(output: str) -> float:
        raise ValueError(output)

    client = pipeline.EvaluationClient(store)
    evaluation = create(store, ref, scorers=[fail])
    for _ in range(2):
        run = client.run(evaluation.id, new=False, part_rows=5, max_failures=3).wait(raise_on_failure=False)
        assert run.status is pipeline.EvaluationRunStatus.FAILED
        assert "more than max_failures=3" in run.error_message
    assert not (store / "runs" / run.id / "manifest.json").exists()


def test_a_definition_that_was_edited_on_the_store_is_not_run(data):
    store, ref = data
    evaluation = create(store, ref, scorers=[pipeline.scorers.sql("half", "0.5")])
    path = store / "evaluations" / f"{evaluation.id}.json"
    path.write_text(path.read_text().replace('"0.5"', '"1.5"'))
    with pytest.raises((EvaluationError, pipeline.CorruptError), match="changed after it was written"):
        evaluation.run()


def test_a_runtime_environment_from_a_store_that_is_not_trusted_is_refused(data, monkeypatch):
    from pipeline.evaluation import definition

    store, ref = data
    evaluation = create(store, ref, scorers=[pipeline.scorers.exact_match(runtime_env={"pip": ["nothing"]})])
    monkeypatch.setattr(definition, "_defined_here", set())
    monkeypatch.chdir(store)
    with pytest.raises(pipeline.UntrustedFunctionError, match="'exact-match' asks for a runtime_env"):
        evaluation.run()


def test_files_of_other_people_in_a_result_folder_survive_the_commit(data):
    store, ref = data
    evaluation = create(store, ref)
    client = pipeline.EvaluationClient(store)
    run = client.run(evaluation.id).wait()
    mine = store / "runs" / run.id / "data" / "notes.txt"
    mine.write_text("mine")
    (store / "runs" / run.id / "manifest.json").unlink()
    (store / "runs" / run.id / "outcome.json").unlink()
    client.resume(run.id).wait(raise_on_failure=False)
    assert mine.read_text() == "mine"
