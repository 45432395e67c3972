"""Finished rows of an unfinished part are kept, found again and never called twice; a poisoned row is told from others.

Calls are counted by the lines that a function adds to a file: it travels by value, and shares no variable with a test.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.engine import Place
from pipeline.errors import FailingRunError, UnavailableError
from pipeline.evaluation.definition import define
from pipeline.evaluation.journal import journalled_parts
from pipeline.evaluation.prepare import prepare
from pipeline.evaluation.worker import EvaluationWork, EvaluationWorker
from pipeline.records.plan import Part, Receipt
from pipeline.records.summary import summarise
from pipeline.store import Store, resolve_revision
from scorers import EvaluationScorerResult

N = 40
QUICK_S = 0.02
WAIT_S = 30  # for what happens at once


def noted(log: str, text: str) -> None:
    """Called by tasks: one line a call; the first that finds a file `<log>.<text>` takes it, and waits for ever."""
    with open(log, "a") as file:
        file.write(f"{text}\n")
    try:
        os.rename(f"{log}.{text}", f"{log}.{text}.taken")
    except FileNotFoundError:
        return
    while not os.path.exists(f"{log}.release"):
        time.sleep(0.005)


@pipeline.function
def plain(n: int, log: str) -> str:
    noted(log, f"task-{n}")
    if n % 7 == 3:
        raise ValueError(f"no {n}")
    return f"<{n}>"


@pipeline.function(concurrency=3)
def threaded(n: int, log: str) -> str:
    noted(log, f"task-{n}")
    if n % 7 == 3:
        raise ValueError(f"no {n}")
    return f"<{n}>"


@pipeline.function(concurrency=3)
async def waiting(n: int, log: str) -> str:
    import asyncio

    await asyncio.to_thread(noted, log, f"task-{n}")
    if n % 7 == 3:
        raise ValueError(f"no {n}")
    return f"<{n}>"


@pipeline.function(batch=4)
def batched(n: list[int], log: list[str]) -> list[str]:
    for one, path in zip(n, log, strict=True):
        noted(path, f"task-{one}")
    return [f"<{one}>" for one in n]


@pipeline.function
def judge(output: str, n: int, log: str) -> float | None:
    noted(log, f"judge-{n}")
    if n % 5 == 4:
        raise RuntimeError(f"undecided on {output}")
    return None if n % 6 == 0 else n / 100


@pipeline.function
def letters(output: str, n: int) -> list[EvaluationScorerResult]:
    return [EvaluationScorerResult((n + i) % 10 / 10, {"at": i, "of": output}) for i in range(n % 4)]


TASKS = {"plain": plain, "threaded": threaded, "waiting": waiting, "batched": batched}


class Bench:
    """A store with a dataset, and the work of one plan on it."""

    def __init__(self, folder: Path, task: Any, scorers: Any = (judge, letters), rows: int = N, size: int = N) -> None:
        self.log = folder / "calls"
        self.store = Store(folder / "store")
        data = pa.table({"n": list(range(rows)), "log": [str(self.log)] * rows, "output2": ["fine"] * rows})
        ref = pipeline.DatasetClient(self.store).upload("numbers", data)
        record = define(
            self.store,
            "t",
            dataset=ref,
            task=task,
            scorers=list(scorers),
            suite=lambda: "none",
            output_column=None if task else "output2",
        )
        prepared = prepare(self.store, record, resolve_revision(self.store, record.dataset_revision_id), part_rows=size)
        self.plan = prepared.plan
        work = prepared.job(self.store, "runs/t").work
        assert isinstance(work, EvaluationWork)
        self.work = replace(work, journal_s=QUICK_S)
        self.names = [scorer.name for scorer in record.scorers]

    def open(self, **changes: Any) -> EvaluationWorker:
        return replace(self.work, **changes).open(Place())

    def calls(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    def block(self, text: str) -> None:
        Path(f"{self.log}.{text}").touch()

    def is_blocked(self, text: str) -> bool:
        return Path(f"{self.log}.{text}.taken").exists()

    def release(self) -> None:
        Path(f"{self.log}.release").touch()

    def kept(self, part: int = 0) -> list[str]:
        return self.store.list(f"runs/t/journal/{part}")

    def result(self) -> list[str]:
        return self.store.list("runs/t/data")


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


def undisturbed(folder: Path, task: Any, **how: Any) -> Receipt:
    bench = Bench(folder / "undisturbed", task, **how)
    worker = bench.open(journal_s=60.0)
    receipt = worker.run_part(bench.plan.parts[0])
    worker.close()
    return receipt


def same(found: Receipt, expected: Receipt) -> bool:
    """But for the dataset's own column with the path of the log, which is that of another folder."""
    return (found.sums, [file.rows for file in found.files]) == (expected.sums, [file.rows for file in expected.files])


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> Any:
    return TASKS[request.param]


def test_rows_that_were_kept_are_not_called_again(task, tmp_path):
    bench = Bench(tmp_path, task)
    part = bench.plan.parts[0]
    bench.block("task-30")
    lost = bench.open()
    thread = threading.Thread(target=lambda: lost.run_part(part), daemon=True)
    thread.start()
    wait_until(lambda: bench.is_blocked("task-30") and bench.kept())
    time.sleep(5 * QUICK_S)
    before = bench.calls()

    again = bench.open()
    receipt = again.run_part(part, attempt=2)
    repeated = [call for call in bench.calls()[len(before) :] if call in before]
    assert len(before) >= 28
    assert len(repeated) <= 4, "more than what was in flight was called again"
    assert bench.calls().count("task-0") == 1
    files = bench.result()

    bench.release()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert bench.result() == files, "the late worker left something else"
    assert bench.kept() == []
    whole = bench.open().run_part(part)
    assert (receipt, receipt.sums) == (whole, whole.sums)


def test_a_part_that_was_done_is_not_done_again_though_its_answer_was_lost(tmp_path):
    bench = Bench(tmp_path, plain)
    part = bench.plan.parts[0]
    first = bench.open().run_part(part)
    calls = bench.calls()
    assert bench.open().run_part(part, attempt=2) == first
    assert bench.calls() == calls


def test_a_part_that_takes_no_ten_seconds_is_neither_kept_nor_looked_for(tmp_path, monkeypatch):
    bench = Bench(tmp_path, plain)
    listed: list[str] = []
    monkeypatch.setattr(Store, "list_infos", lambda self, prefix="": listed.append(prefix) or [])
    worker = bench.open(journal_s=10.0)
    worker.run_part(bench.plan.parts[0])
    assert listed == []
    assert not (tmp_path / "store/runs/t/journal").exists()
    assert worker.rows_finished() >= 2 * N


def test_what_is_kept_of_other_scores_fits_the_outputs_that_are_kept(tmp_path):
    """A task that answers otherwise each time: a score is never beside an output that it is not of."""

    @pipeline.function
    def dice(n: int) -> str:
        import uuid

        return uuid.uuid4().hex

    @pipeline.function
    def echo(output: str) -> EvaluationScorerResult:
        return EvaluationScorerResult(1.0, {"of": output})

    bench = Bench(tmp_path, dice, scorers=[echo])
    part = bench.plan.parts[0]
    bench.open().keep_rows(part, 0, 20)
    bench.open().keep_rows(part, 10, 20)
    first = next(key for key in bench.kept() if key.endswith(".arrow"))
    bench.store.delete(first)  # the task's piece of the first twenty, whose scores are there
    bench.open().run_part(part, attempt=2)
    table = read(bench)
    assert len(set(table["output"].to_pylist())) == N
    assert [json.loads(text)["of"] for text in table["echo_metadata"].to_pylist()] == table["output"].to_pylist()


def read(bench: Bench) -> pa.Table:
    return pa.concat_tables([pq.read_table(bench.store.local_path(key), partitioning=None) for key in bench.result()])


def damage_cut(data: bytes) -> bytes:
    return data[:-40]


def damage_flip(data: bytes) -> bytes:
    return data[:200] + bytes([data[200] ^ 1]) + data[201:]


def damage_order(data: bytes) -> bytes:
    """Other values, in a piece that Arrow still reads."""
    piece = pa.ipc.open_stream(data).read_all()
    names = [name for name in piece.column_names if not name.startswith("__assay_")]
    upside_down = pa.array(range(piece.num_rows - 1, -1, -1))
    for name in names:
        piece = piece.set_column(piece.schema.get_field_index(name), piece.field(name), piece[name].take(upside_down))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, piece.schema) as writer:
        writer.write_table(piece)
    return sink.getvalue().to_pybytes()


def damage_nothing(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [damage_cut, damage_flip, damage_order, damage_nothing])
def test_a_piece_that_is_damaged_is_as_if_it_were_not_there(damage, tmp_path):
    bench = Bench(tmp_path, plain)
    part = bench.plan.parts[0]
    bench.open().keep_rows(part, 0, N)
    for key in bench.kept():
        path = bench.store.local_path(key)
        path.write_bytes(damage(path.read_bytes()))
    receipt = bench.open().run_part(part, attempt=2)
    assert bench.calls().count("task-0") == 2
    assert same(receipt, undisturbed(tmp_path, plain))
    assert bench.kept() == []


def test_pieces_of_another_plan_or_shape_are_not_looked_at(tmp_path):
    bench = Bench(tmp_path, plain)
    part = bench.plan.parts[0]
    bench.open(plan_sha256="0" * 64).keep_rows(part, 0, N)
    assert len(bench.kept()) == 3
    bench.open().run_part(part, attempt=2)
    assert bench.calls().count("task-0") == 2


def test_rows_that_are_kept_by_halves_are_taken_by_the_next_attempt(task, tmp_path):
    bench = Bench(tmp_path, task)
    part = bench.plan.parts[0]
    worker = bench.open()
    for first, rows in ((20, 20), (0, 10), (10, 9), (19, 1)):
        worker.keep_rows(part, first, rows)
    calls = bench.calls()
    assert len(calls) == len(set(calls))
    receipt = bench.open().run_part(part, attempt=2)
    assert bench.calls() == calls
    assert same(receipt, undisturbed(tmp_path, task))
    assert bench.kept() == []


def keep_until_lost(bench: Bench, row: int, stage: str, lost: str | None = None) -> None:
    """A worker that is given one row and never answers."""
    bench.block(f"{stage}-{row}")
    worker = bench.open()
    part = bench.plan.parts[0]
    threading.Thread(target=lambda: worker.keep_rows(part, row, 1, lost), daemon=True).start()
    wait_until(lambda: bench.is_blocked(f"{stage}-{row}"))


@pytest.mark.parametrize("stages", [["task"], ["judge"], ["judge", "letters"]])
def test_a_row_that_ends_its_worker_fails_in_the_step_it_was_lost_in(stages, tmp_path):
    @pipeline.function
    def letters(output: str, n: int, log: str) -> float:
        noted(log, f"letters-{n}")
        return 1.0

    bench = Bench(tmp_path, plain, scorers=[judge, letters])
    part = bench.plan.parts[0]
    expected = read_after(Bench(tmp_path / "clean", plain, scorers=[judge, letters]))
    lost = None
    for stage in stages:
        keep_until_lost(bench, 8, stage, lost)
        lost = "ActorDiedError: SIGSEGV"
    marks = [key for key in bench.kept() if key.endswith("/at-8.json")]
    assert len(marks) == 1
    bench.open().keep_rows(part, 8, 1, lost)
    assert not [key for key in bench.kept() if key.endswith("/at-8.json")]
    receipt = bench.open().run_part(part, attempt=2)

    calls = bench.calls()
    assert max(calls.count(f"{stage}-8") for stage in ("task", "judge", "letters")) == 1
    table = read(bench).to_pylist()
    bad = table.pop(8)
    blamed = dict(bad["__assay_scorer_owner"] or [])
    if stages == ["task"]:
        assert (bad["output"], bad["__assay_owner"], blamed) == (None, "harness", {})
        assert "lost on this row again and again: ActorDiedError: SIGSEGV" in bad["output_error"]
    else:
        assert (bad["output"], bad["__assay_owner"]) == ("<8>", None)
        assert blamed == dict.fromkeys(stages, "harness")
        assert "SIGSEGV" in bad["judge_error"]
    other = expected.pop(8)
    assert [without_log(row) for row in table] == [without_log(row) for row in expected]
    summary = summarise(N, bench.names, [receipt.sums])
    means = {name: [row[f"{name}_value"] for row in table if row[f"{name}_value"] is not None] for name in bench.names}
    for scorer in summary.scorers:
        values = means[scorer.name] + ([bad[f"{scorer.name}_value"]] if bad[f"{scorer.name}_value"] is not None else [])
        assert scorer.mean == pytest.approx(sum(values) / len(values))
        assert scorer.coverage == len(values) / N
        assert scorer.failed_by_owner.get("harness", 0) == (scorer.name in stages)
        assert (scorer.lower, scorer.upper) == pytest.approx((sum(values) / N, (sum(values) + N - len(values)) / N))
    assert summary.output.failed_by_owner.get("harness", 0) == (stages == ["task"])
    assert other["output"] == "<8>"
    bench.release()


def without_log(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "log"}


def read_after(bench: Bench) -> list[dict[str, Any]]:
    bench.open().run_part(bench.plan.parts[0])
    return read(bench).to_pylist()


def test_a_row_without_a_mark_is_tried_again_and_not_blamed(tmp_path):
    bench = Bench(tmp_path, plain)
    bench.open().keep_rows(bench.plan.parts[0], 8, 1, "lost while it read")
    bench.open().run_part(bench.plan.parts[0], attempt=2)
    assert read(bench)["output"][8].as_py() == "<8>"
    assert bench.calls().count("task-8") == 1


def test_a_store_that_fails_while_a_row_is_kept_blames_no_step(tmp_path, monkeypatch):
    bench = Bench(tmp_path, plain)
    part = bench.plan.parts[0]
    with monkeypatch.context() as patched:
        patched.setattr(
            Store, "put", lambda self, key, data: (_ for _ in ()).throw(UnavailableError("gone for a while"))
        )
        with pytest.raises(UnavailableError):
            bench.open().keep_rows(part, 8, 1, "lost before")
    assert bench.kept() == []
    bench.open().keep_rows(part, 8, 1, "lost before")
    bench.open().run_part(part, attempt=2)
    assert read(bench)["output"][8].as_py() == "<8>"


def test_rows_of_a_long_half_are_kept_before_it_ends(tmp_path):
    bench = Bench(tmp_path, plain)
    part = bench.plan.parts[0]
    bench.block("task-15")
    worker = bench.open()
    thread = threading.Thread(target=lambda: worker.keep_rows(part, 0, 20), daemon=True)
    thread.start()
    wait_until(lambda: bench.is_blocked("task-15") and bench.kept())
    bench.release()
    thread.join(WAIT_S)
    bench.open().run_part(part, attempt=2)
    assert len(bench.calls()) == len(set(bench.calls()))


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_however_rows_were_kept_before_the_part_leaves_the_same_bytes(whole_receipts, data):
    _, name, expected = data.draw(st.sampled_from(whole_receipts), label="task")
    bench, receipt, files = expected
    part = bench.plan.parts[0]
    bench.store.delete("runs/t/receipt/0.json")
    for key in bench.result():
        bench.store.delete(key)
    worker = bench.open(journal_s=data.draw(st.sampled_from([0.001, 60.0]), label="every"))
    for _ in range(data.draw(st.integers(0, 4), label="pieces")):
        first = data.draw(st.integers(0, N - 1))
        worker.keep_rows(part, first, data.draw(st.integers(1, N - first)))
    found = worker.run_part(part, attempt=2)
    worker.close()
    assert (found, bench.result()) == (receipt, files), name
    assert bench.kept() == []


@pytest.fixture(scope="module")
def whole_receipts(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    made = []
    for name, function in TASKS.items():
        folder = tmp_path_factory.mktemp(name)
        bench = Bench(folder, function)
        worker = bench.open(journal_s=60.0)
        receipt = worker.run_part(bench.plan.parts[0])
        worker.close()
        made.append((folder, name, (bench, receipt, bench.result())))
    return made


def test_two_parts_at_once_leave_what_they_leave_one_by_one(tmp_path):
    one, two = Bench(tmp_path / "one", waiting, size=10), Bench(tmp_path / "two", waiting, size=10)
    assert (one.work.parts_at_once, Bench(tmp_path / "sync", plain).work.parts_at_once) == (2, 1)
    single = one.open()
    expected = [single.run_part(part) for part in one.plan.parts]
    shared = two.open()
    found: dict[int, Receipt] = {}

    def work(parts: list[Part]) -> None:
        for part in parts:
            found[part.index] = shared.run_part(part)

    threads = [threading.Thread(target=work, args=(two.plan.parts[start::2],)) for start in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert all(same(found[receipt.part], receipt) for receipt in expected)
    assert shared.rows_finished() >= 2 * N


def test_parts_do_not_mix_where_functions_set_different_variables(tmp_path):
    @pipeline.function(env={"ASSAY_TEST_KEY": "task's"})
    async def ask(n: int) -> str:
        import os

        return os.environ["ASSAY_TEST_KEY"]

    @pipeline.function(env={"ASSAY_TEST_KEY": "task's"})
    def check(output: str) -> float:
        return float(output == "task's")

    assert Bench(tmp_path / "1", ask, scorers=[check]).work.parts_at_once == 2
    assert Bench(tmp_path / "2", ask, scorers=[judge]).work.parts_at_once == 1


def test_a_run_that_fails_alike_from_its_beginning_is_not_kept_failing(tmp_path):
    @pipeline.function
    def broken(n: int, log: str) -> str:
        if not os.path.exists(f"{log}.mended"):
            raise RuntimeError("no such model")
        return "fine"

    bench = Bench(tmp_path, broken, rows=150, size=150)
    part = bench.plan.parts[0]
    bench.open().keep_rows(part, 0, 120)
    assert bench.kept()
    with pytest.raises(FailingRunError, match="no such model"):
        bench.open().run_part(part, attempt=2)
    assert bench.kept() == []
    Path(f"{bench.log}.mended").touch()
    receipt = bench.open().run_part(part, attempt=2)
    assert receipt.sums["output"]["ok"] == 150


def test_the_driver_tells_the_workers_which_parts_have_kept_rows(tmp_path):
    bench = Bench(tmp_path, plain, size=10)
    bench.open().keep_rows(bench.plan.parts[2], 20, 10)
    assert journalled_parts(bench.store, "runs/t") == {2}
    work = bench.work.with_journal(journalled_parts(bench.store, "runs/t"))
    work.open(Place()).run_part(bench.plan.parts[2])
    assert len(bench.calls()) == len(set(bench.calls()))


LONG = """
import sys, time
import pipeline
from pipeline.evaluation import keeping

keeping.JOURNAL_S = 0.1

@pipeline.function
def slow(n: int, log: str) -> str:
    with open(log, "a") as file:
        file.write(f"{n}\\n")
    time.sleep(0.004)
    return f"<{n}>"

@pipeline.function
def size(output: str, n: int) -> float:
    return len(output) / 10

def main(store, log, new=""):
    client = pipeline.EvaluationClient(store)
    data = pipeline.DatasetClient(store).upload("numbers", {"n": list(range(300)), "log": [log] * 300})
    evaluation = client.create("slow", dataset=data, task=slow, reuse=True, scorers=[size])
    run = client.run(evaluation.id, new=bool(new), engine="inline")
    print(run.id, flush=True)
    print(run.wait(poll_interval=0.05).status, flush=True)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


def test_after_kill_9_in_the_middle_of_a_part_only_rows_that_were_not_kept_are_called_again(tmp_path):
    program, log, store = tmp_path / "long_program.py", tmp_path / "calls", tmp_path / "store"
    program.write_text(LONG)
    command = [sys.executable, str(program), str(store), str(log)]

    def start(*more: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    def pieces() -> list[Path]:
        return list(store.glob("runs/*/journal/0/*.arrow"))

    process, run = start()
    wait_until(lambda: len(pieces()) >= 3)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=WAIT_S)
    kept = {
        row
        for path in pieces()
        for row in pa.ipc.open_stream(path.read_bytes()).read_all()["__assay_row_id"].to_pylist()
    }
    before = log.read_text().split()
    assert 20 <= len(kept) <= len(before) < 300

    process, again = start()
    out, err = process.communicate(timeout=120)
    assert (again, out.strip()) == (run, "EvaluationRunStatus.SUCCEEDED"), err
    assert sorted(map(int, log.read_text().split()[len(before) :])) == sorted(set(range(300)) - kept)
    assert list(store.glob("runs/*/journal/**/*.*")) == []
    process, other = start("new")
    out, err = process.communicate(timeout=120)
    assert "SUCCEEDED" in out, err
    index = [(store / "runs" / each / "manifest.json").read_bytes() for each in (run, other)]
    assert other != run
    assert index[0] == index[1]
