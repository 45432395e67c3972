"""Several real processes on one store, at the same time."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.store import Store, read_manifest
from pipeline.store.commit import verify

CONFIG = """schema: assay.run
version: 1
name: {name}
dataset: answers.parquet
task: task.py:slow
scorers:
  - {{use: exact_match, name: {name}, inputs: [output, answer]}}
"""
TASK = """
import time

def slow(n: int, answer: str) -> str:
    if n % 50 == 0:
        time.sleep(0.02)
    return answer
"""


class Place(NamedTuple):
    """A store, as the command line and as a test sees it."""

    url: str
    store: Store
    environment: dict[str, str]


@pytest.fixture(params=["local", "seaweed"])
def place(request, tmp_path) -> Place:
    if request.param == "local":
        return Place("store", Store(tmp_path / "store"), {})
    server = request.getfixturevalue("seaweed")
    url = f"s3://{server.bucket}/{tmp_path.name}"
    environment = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "testtest",
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    return Place(url, Store(url, options=server.options), environment)


@pytest.fixture
def assay(tmp_path, place) -> Callable[..., subprocess.Popen[str]]:
    rows = pa.table({"n": range(4000), "answer": [f"answer {n}" for n in range(4000)]})
    pq.write_table(rows, tmp_path / "answers.parquet")
    (tmp_path / "task.py").write_text(TASK)
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(CONFIG.format(name=name))

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pipeline.cli", *arguments, "--store", place.url]
        environment = {**os.environ, **place.environment}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=tmp_path, env=environment, text=True, **pipes)

    return start


def run(assay, name, *more):
    return assay("run", f"{name}.yaml", "--engine", "inline", "--part-rows", "500", "--quiet", *more)


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    return out


def runs_of(store: Store) -> list[str]:
    return store.list_folders("runs")


def checked(store: Store, run_id: str) -> bytes:
    manifest = read_manifest(store, f"runs/{run_id}")
    assert manifest is not None
    assert (manifest.rows, len(manifest.receipts)) == (4000, 8)
    verify(store, f"runs/{run_id}", manifest)
    return manifest.to_bytes()


def wait_for_receipts(store: Store, process: subprocess.Popen[str]) -> str:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        for run_id in runs_of(store):
            if store.list(f"runs/{run_id}/receipt"):
                return run_id
        time.sleep(0.02)
    raise AssertionError(f"no receipt before the end: {process.communicate(timeout=60)}")


def test_two_processes_that_drive_one_run_end_with_one_index(assay, place):
    first = run(assay, "one")
    run_id = wait_for_receipts(place.store, first)
    second = run(assay, "one", "--force")
    ended(first)
    ended(second)
    assert runs_of(place.store) == [run_id]
    receipts = place.store.list(f"runs/{run_id}/receipt")
    assert len(receipts) == 8
    index = checked(place.store, run_id)
    ended(run(assay, "one", "--new"))
    [undisturbed] = [other for other in runs_of(place.store) if other != run_id]
    assert checked(place.store, undisturbed) == index


@pytest.mark.slow
def test_a_process_does_not_take_over_a_run_that_another_one_drives(assay, place):
    first = run(assay, "one")
    run_id = wait_for_receipts(place.store, first)
    _, err = (second := run(assay, "one")).communicate(timeout=200)
    if second.returncode != 0:  # else the first one had ended before
        assert f"run {run_id} is being driven by process {first.pid}" in err
    ended(first)
    checked(place.store, run_id)


def test_two_evaluations_at_once_do_not_touch_each_other(assay, place):
    both = [run(assay, "one"), run(assay, "two")]
    for process in both:
        ended(process)
    assert len(runs_of(place.store)) == 2
    for run_id in runs_of(place.store):
        checked(place.store, run_id)


def test_garbage_is_not_collected_from_a_run_that_lives(assay, place):
    process = run(assay, "one")
    run_id = wait_for_receipts(place.store, process)
    in_flight = f"runs/{run_id}/data/{hashlib.sha256(b'a part in work').hexdigest()}.parquet"
    place.store.put(in_flight, b"a part in work")
    if place.store.is_local:  # as of a run that goes on for days; the time of an object in a bucket is the server's
        for info in place.store.list_infos():
            path = place.store.local_path(info.key)
            if path is not None and path.name != "heartbeat.json":
                os.utime(path, (time.time() - 25 * 3600,) * 2)
    out = ended(assay("gc", "--apply", "--json"))
    assert json.loads(out)["objects"] == []
    ended(process)
    checked(place.store, run_id)
