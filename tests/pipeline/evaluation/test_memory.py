"""A data set many times the memory limit is scored within it, whatever the parts of its plan weigh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.engine.memory_guard import memory_in_use
from pipeline.errors import InputError
from pipeline.evaluation.memory import LEAST_STEP_BYTES, MIB, STEP_BYTES, WorkerNeed, most_workers, step_bytes

NEED = WorkerNeed(fixed=300 * MIB, steps=1)
SCORER = 'exact_match:{"inputs": ["output", "gold"]}'


def test_workers_share_a_limit_and_steps_follow_from_what_is_left() -> None:
    assert most_workers(None, NEED, None) is None
    assert most_workers(1024 * MIB, NEED, None) == 3
    assert step_bytes(None, 4, NEED) == STEP_BYTES
    assert step_bytes(720 * MIB, 2, NEED) == 10 * MIB
    assert step_bytes(720 * MIB, 2, NEED._replace(steps=2)) == 5 * MIB
    assert step_bytes(100_000 * MIB, 2, NEED) == STEP_BYTES
    assert step_bytes(1, 2, NEED) == LEAST_STEP_BYTES


def test_the_least_of_a_limit_is_named() -> None:
    with pytest.raises(InputError, match="one worker of this evaluation needs at least 306Mi"):
        most_workers(305 * MIB, NEED, None)
    with pytest.raises(InputError, match=r"2 workers .* need at least 612Mi: give that much, or ask for at most 1"):
        most_workers(611 * MIB, NEED, 2)


def repeated(path: Path, n_bytes: int) -> None:
    """Texts of 40,000 characters, of which there are sixteen: small in the file, `n_bytes` in memory."""
    rows = n_bytes // 40_000
    texts = pa.array([chr(97 + i) * 40_000 for i in range(16)])
    answers = pa.DictionaryArray.from_arrays(pa.array([i % 16 for i in range(rows)], pa.int32()), texts)
    pq.write_table(pa.table({"answer": answers, "gold": ["x"] * rows}), path)


def unique(path: Path, n_bytes: int) -> None:
    """Texts of 1,000 characters, each another."""
    schema = pa.schema([("answer", pa.string()), ("gold", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, n_bytes // 1_000, 20_000):
            texts = [os.urandom(500).hex() for _ in range(first, first + 20_000)]
            writer.write_table(pa.table({"answer": texts, "gold": ["x"] * len(texts)}, schema=schema))


def peak_of_workers(command: list[str], engine: str, folder: Path) -> int:
    """Run it; the most bytes that its workers held together: all of the process, or the workers of its Ray."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        pids = [process.pid] if engine == "inline" else ray_workers(process.pid)
        peak = max(peak, sum(memory_in_use(pid) for pid in pids))
        time.sleep(0.05)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out)["summary"]["scorers"][0]["mean"] == 0.0
    return peak


def ray_workers(pid: int) -> list[int]:
    return [child for child in descendants(pid) if command_of(child).startswith(b"ray::")]


def descendants(pid: int) -> Iterator[int]:
    for file in Path(f"/proc/{pid}").glob("task/*/children"):
        try:
            children = [int(child) for child in file.read_text().split()]
        except OSError:  # ended meanwhile
            continue
        for child in children:
            yield child
            yield from descendants(child)


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def scoring(file: str, engine: str, *options: str) -> list[str]:
    command = [sys.executable, "-m", "pipeline.cli", "score", file, "--output-column", "answer", "--scorer", SCORER]
    return [*command, "--to", "out", "--engine", engine, "--json", "-q", *options]


def check_within(folder: Path, make: Callable[[Path, int], None], engine: str, limit: int, times: int) -> None:
    make(folder / "data.parquet", times * limit)
    peak = peak_of_workers(scoring("data.parquet", engine, "--memory-limit", str(limit)), engine, folder)
    assert 0 < peak <= limit, f"{peak >> 20} MiB of {limit >> 20}"


def write_one_cell(path: Path, n_bytes: int) -> None:
    """A file of two rows, of which one has a text of `n_bytes`."""
    text = os.urandom(500_000).hex() * (n_bytes // 1_000_000)
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"answer": ["y", text], "gold": ["x", "x"]}), path)
    elif path.suffix == ".csv":
        path.write_text(f"answer,gold\ny,x\n{text},x\n")
    else:
        path.write_text(f'{{"answer": "y", "gold": "x"}}\n{{"answer": "{text}", "gold": "x"}}\n')


def check_one_cell(folder: Path, suffix: str, n_bytes: int, times: int = 6) -> None:
    write_one_cell(folder / f"data.{suffix}", n_bytes)
    peak = peak_of_workers(scoring(f"data.{suffix}", "inline"), "inline", folder)
    most = 250 * MIB + times * n_bytes
    assert peak <= most, f"{peak >> 20} MiB, expected at most {most >> 20}"


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")


@needs_proc
def test_data_beyond_the_limit_are_scored_within_it(tmp_path: Path) -> None:
    check_within(tmp_path, repeated, "inline", 340 * MIB, times=2)


@needs_proc
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_one_large_cell_takes_six_times_its_size(tmp_path: Path, suffix: str) -> None:
    check_one_cell(tmp_path, suffix, 60_000_000)


@needs_proc
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "suffix, n_bytes, times", [("parquet", 500_000_000, 6), ("jsonl", 500_000_000, 6), ("csv", 130_000_000, 8)]
)
def test_the_largest_cells_take_few_times_their_size(tmp_path: Path, suffix: str, n_bytes: int, times: int) -> None:
    check_one_cell(tmp_path, suffix, n_bytes, times)


@needs_proc
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("make", [repeated, unique])
@pytest.mark.parametrize("engine", ["inline", pytest.param("ray", marks=pytest.mark.ray)])
def test_data_of_ten_times_the_limit_are_scored_within_it(tmp_path: Path, make, engine: str) -> None:
    check_within(tmp_path, make, engine, (340 if engine == "inline" else 680) * MIB, times=10)
