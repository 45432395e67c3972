"""The SQL child as a process: limits, loss and restart, no leftovers, many at once."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from scorers._sql import SqlEvaluator, sql
from scorers._sql_process import LostError, SqlProcess, _end
from scorers._sql_wire import pack

ROWS = pa.table({"output": [f"text {i}" for i in range(100)], "n": range(100)})
LENGTHS = [float(len(f"text {i}")) for i in range(100)]
ENDLESS = "levenshtein({0}, {0} || 'b')"
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")


def grown(text: str, decades: int) -> str:
    for _ in range(decades):
        text = f"replace({text}, 'a', 'aaaaaaaaaa')"
    return text


def pid_of(evaluator: SqlEvaluator) -> int:
    assert evaluator._process is not None
    return evaluator._process.pid


def is_gone(pid: int, within_s: float = 20.0) -> bool:
    """Whether no process of this id is left, not even a zombie."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_one_child_serves_all_calls_and_is_gone_after_close() -> None:
    with SqlEvaluator([sql("a", "length(output)")]) as evaluator:
        evaluator.check(ROWS.schema)
        pid = pid_of(evaluator)
        for _ in range(3):
            assert evaluator.evaluate(ROWS)[0]["a"].to_pylist() == LENGTHS
        assert pid_of(evaluator) == pid
    assert is_gone(pid, within_s=0.1)


def test_a_closed_evaluator_starts_again_when_asked() -> None:
    evaluator = SqlEvaluator([sql("a", "length(output)")])
    evaluator.evaluate(ROWS)
    evaluator.close()
    evaluator.close()
    assert evaluator.evaluate(ROWS)[0]["a"].to_pylist() == LENGTHS
    evaluator.close()


def test_a_forgotten_evaluator_ends_its_child() -> None:
    evaluator = SqlEvaluator([sql("a", "1")])
    evaluator.check(ROWS.schema)
    pid = pid_of(evaluator)
    del evaluator
    gc.collect()
    assert is_gone(pid)


def test_a_child_that_is_killed_between_calls_is_replaced() -> None:
    with SqlEvaluator([sql("a", "length(output)")]) as evaluator:
        evaluator.evaluate(ROWS)
        os.kill(pid_of(evaluator), signal.SIGKILL)
        values, failed = evaluator.evaluate(ROWS)
    assert values["a"].to_pylist() == LENGTHS
    assert not any(failed["a"].to_pylist())


def test_a_child_that_is_killed_in_mid_run_is_replaced_and_the_result_is_the_same() -> None:
    rows = pa.table({"output": ["ab" * 200 + str(i) for i in range(3000)]})
    with SqlEvaluator([sql("a", "levenshtein(output, reverse(output))"), sql("b", "length(output)")]) as evaluator:
        expected = evaluator.evaluate(rows)
        killer = threading.Timer(0.05, os.kill, (pid_of(evaluator), signal.SIGKILL))
        killer.start()
        again = evaluator.evaluate(rows)
        killer.join()
    assert again == expected


@pytest.mark.parametrize("n_rows", [1, 2, 300])
def test_one_poison_row_is_found_wherever_it_is(n_rows: int) -> None:
    seeded = random.Random(n_rows)
    poison = seeded.randrange(n_rows)
    rows = pa.table({"output": ["a" if i == poison else "b" * (i % 5) for i in range(n_rows)]})
    endless = ENDLESS.format(grown("output", 6))
    expressions = [sql("poisoned", f"{endless} + length(output) - 1"), sql("fine", "length(output)")]
    with SqlEvaluator(expressions, deadline_s=0.5) as evaluator:
        values, failed = evaluator.evaluate(rows)
    assert [i for i, has_failed in enumerate(failed["poisoned"].to_pylist()) if has_failed] == [poison]
    assert values["poisoned"].to_pylist() == [None if i == poison else float(i % 5) for i in range(n_rows)]
    assert values["fine"].null_count == 0


def test_rows_that_fit_alone_but_not_together_are_all_scored() -> None:
    rows = pa.table({"output": ["a"] * 250})
    with SqlEvaluator([sql("large", f"length({grown('output', 7)})")]) as evaluator:  # 10 MB a row
        values, failed = evaluator.evaluate(rows)
    assert values["large"].to_pylist() == [1e7] * 250
    assert not any(failed["large"].to_pylist())


def test_where_every_row_takes_too_long_the_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorers._sql_evaluator.LEAST_LOST_S", 3.0)
    rows = pa.table({"output": ["a"] * 500})
    with SqlEvaluator([sql("slow", ENDLESS.format(grown("output", 6)))], deadline_s=0.6) as evaluator:
        started = time.monotonic()
        values, failed = evaluator.evaluate(rows)
    assert time.monotonic() - started < 200
    assert values["slow"].null_count == 500
    assert all(failed["slow"].to_pylist())


def test_cutting_large_rows_into_requests_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expression = sql("a", "length(output) + n")
    with SqlEvaluator([expression]) as evaluator:
        whole = evaluator.evaluate(ROWS)
        monkeypatch.setattr("scorers._sql_evaluator.CALL_BYTES", 100)
        assert evaluator.evaluate(ROWS) == whole


@LINUX
def test_the_child_inherits_no_environment_and_few_rights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "sesame")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "duckdb.py").write_text("raise SystemExit('loaded from the current folder')")
    with SqlEvaluator([sql("a", "1")]) as evaluator:
        evaluator.check(ROWS.schema)
        proc = Path(f"/proc/{pid_of(evaluator)}")
        environment = (proc / "environ").read_text()
        limits = {line[:25].strip(): line[26:].split()[0] for line in (proc / "limits").read_text().splitlines()}
        assert os.readlink(proc / "cwd") == "/"
    assert "sesame" not in environment
    assert "PATH" not in {line.split("=")[0] for line in environment.split("\0")}
    assert limits["Max address space"] == str(2 << 30)
    assert limits["Max file size"] == limits["Max core file size"] == "0"


@LINUX
def test_an_idle_child_leaves_most_of_its_address_space_to_the_data() -> None:
    with SqlEvaluator([sql("a", "length(output)")]) as evaluator:
        evaluator.evaluate(ROWS)
        status = Path(f"/proc/{pid_of(evaluator)}/status").read_text()
    size_kib = int(status.split("VmSize:")[1].split()[0])
    assert size_kib < 768 << 10


@pytest.mark.parametrize("busy", [False, True])
def test_the_child_ends_when_its_parent_is_killed(busy: bool, tmp_path: Path) -> None:
    expression = ENDLESS.format(grown("output", 6)) if busy else "1"
    script = f"""
import sys, time, threading
import pyarrow as pa
from scorers._sql import SqlEvaluator, sql
evaluator = SqlEvaluator([sql("a", {expression!r})])
rows = pa.table({{"output": ["a"]}})
evaluator.check(rows.schema)
print(evaluator._process.pid, flush=True)
evaluator.evaluate(rows)
time.sleep(600)
"""
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=root, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(0.5)
        parent.kill()
    assert is_gone(child)


def test_ctrl_c_is_for_the_parent() -> None:
    with SqlEvaluator([sql("a", "1")]) as evaluator:
        evaluator.check(ROWS.schema)
        pid = pid_of(evaluator)
        os.kill(pid, signal.SIGINT)
        evaluator.evaluate(ROWS)
        assert pid_of(evaluator) == pid
        assert os.getpgid(pid) != os.getpgid(0)


def test_threads_share_one_evaluator() -> None:
    with SqlEvaluator([sql("a", "length(output)")]) as evaluator, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: evaluator.evaluate(ROWS)[0]["a"].to_pylist(), range(16)))
    assert results == [LENGTHS] * 16


def test_many_evaluators_run_at_once() -> None:
    def run(i: int) -> list[float | None]:
        with SqlEvaluator([sql("a", f"n + {i}")]) as evaluator:
            values: list[float | None] = evaluator.evaluate(ROWS)[0]["a"].to_pylist()
            return values

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(run, range(6))) == [[float(n + i) for n in range(100)] for i in range(6)]


def test_a_fork_of_the_parent_does_not_end_the_child() -> None:
    with SqlEvaluator([sql("a", "length(output)")]) as evaluator:
        evaluator.evaluate(ROWS)
        assert evaluator._process is not None
        _end(evaluator._process._process, os.getpid() + 1)  # what a finaliser does in another process than the owner
        pid = pid_of(evaluator)
        assert evaluator.evaluate(ROWS)[0]["a"].to_pylist() == LENGTHS
        assert pid_of(evaluator) == pid


def test_a_request_that_is_overdue_is_told_from_one_that_ended_by_itself() -> None:
    process = SqlProcess()
    rows = pack(pa.table({"output": ["a"]}))
    request = {"op": "evaluate", "expressions": [ENDLESS.format(grown("output", 6))]}
    with pytest.raises(LostError) as caught:
        process.ask(request, rows, cpu_s=0.5)
    assert caught.value.is_overdue
    with pytest.raises(LostError):
        process.ask(request, rows, cpu_s=0.5)
    process.close()


def test_where_duckdb_is_not_there_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [str(Path(__file__).resolve().parents[2])]
    monkeypatch.setattr("scorers._sql_process._folders", lambda: folders)
    with (
        SqlEvaluator([sql("a", "1")]) as evaluator,
        pytest.raises(RuntimeError, match="the SQL process does not start"),
    ):
        evaluator.check(ROWS.schema)


def test_neither_scorers_nor_the_evaluator_loads_duckdb() -> None:
    script = "\n".join(
        [
            "import sys, scorers",
            "made = scorers.sql('a', '1')",
            "assert not {'duckdb', 'pyarrow'} & set(sys.modules), 'loaded too early'",
            "import pyarrow as pa",
            "from scorers._sql import SqlEvaluator",
            "with SqlEvaluator([made]) as evaluator: evaluator.evaluate(pa.table({'x': [1]}))",
            "assert 'duckdb' not in sys.modules",
        ]
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", script], check=True, cwd=root)


@pytest.mark.ray
def test_it_works_in_a_ray_actor_and_leaves_nothing_behind(tmp_path_factory: pytest.TempPathFactory) -> None:
    ray = pytest.importorskip("ray")
    script = f"""
import os, sys, tempfile
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
import ray
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir=tempfile.mkdtemp(prefix="r", dir="/tmp"),
         runtime_env={{"env_vars": {{"PYTHONPATH": {str(Path(__file__).resolve().parents[2])!r}}}}})

@ray.remote(num_cpus=1)
class Worker:
    def run(self, rows):
        from scorers._sql import SqlEvaluator, sql
        self.evaluator = SqlEvaluator([sql("a", "length(output)")])
        return self.evaluator.evaluate(rows)[0]["a"].to_pylist(), self.evaluator._process.pid

import pyarrow as pa
worker = Worker.remote()
values, pid = ray.get(worker.run.remote(pa.table({{"output": ["ab", None]}})))
assert values == [2.0, None], values
ray.kill(worker)
print(pid, flush=True)
ray.shutdown()
"""
    env = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    assert ray.__version__
    assert is_gone(int(done.stdout.split()[-1]))
