"""What a run leaves, says and survives as a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.ray

JOBS = Path(__file__).with_name("jobs.py")
PATIENCE_S = 90.0  # for a start of Ray on a busy machine


class Place(NamedTuple):
    """Where a job runs: its own temporary folder tells its processes and leftovers from all others."""

    temp: str
    cwd: Path

    def start(self, job: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        return subprocess.Popen(
            [sys.executable, JOBS, job, folder], cwd=self.cwd, env=environ | {"TMPDIR": self.temp} | variables,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def processes(self) -> list[str]:
        mark, found = f"TMPDIR={self.temp}\0".encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # it has just ended, or is somebody else's
        return found

    def folders(self) -> list[str]:
        return sorted(os.listdir(self.temp))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    temp = tempfile.mkdtemp(prefix="e", dir="/tmp")  # short: Ray's sockets lie below it
    (tmp_path / "here").mkdir()
    yield Place(temp, tmp_path / "here")
    shutil.rmtree(temp, ignore_errors=True)


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def result_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def test_a_run_beside_a_users_scorers_file_says_nothing_and_leaves_nothing(place: Place, tmp_path: Path) -> None:
    (place.cwd / "scorers.py").write_text("raise RuntimeError('the wrong scorers')\n")
    assert result_of(place.start("score", tmp_path)) == (0, "", "")
    wait_until(lambda: not place.processes(), f"left: {place.processes()}")
    assert place.folders() == []


@pytest.mark.parametrize(
    "interrupt",
    [
        pytest.param(lambda pid: os.killpg(pid, signal.SIGINT), id="Ctrl-C, which all in the foreground get"),
        pytest.param(lambda pid: os.kill(pid, signal.SIGTERM), id="SIGTERM, as a scheduler sends it"),
    ],
)
def test_an_interruption_lets_the_parts_in_work_finish_and_leaves_nothing(
    interrupt: Callable[[int], None], place: Place, tmp_path: Path
) -> None:
    process = place.start("wait_for_ctrl_c", tmp_path)
    wait_until(lambda: len(list(tmp_path.glob("part-*"))) > 3, "no part was begun")
    interrupt(process.pid)
    assert result_of(process) == (130, "", "")
    events = (tmp_path / "events").read_text().split("\n")
    after = events[events.index("Stopping") + 1 :]
    assert 1 <= after.count("PartDone") == len(after)
    assert (events.count("Stopping"), events.count("PartFailed")) == (1, 0)
    wait_until(lambda: not place.processes(), f"left: {place.processes()}")
    assert place.folders() == []


def test_a_run_killed_with_its_driver_is_resumed_to_the_same_index(place: Place, tmp_path: Path) -> None:
    undisturbed, disturbed = tmp_path / "a", tmp_path / "b"
    undisturbed.mkdir()
    disturbed.mkdir()
    assert result_of(place.start("commit", undisturbed)) == (0, "", "")

    process = place.start("commit", disturbed)
    wait_until(lambda: len(list(disturbed.glob("store/receipt/*"))) >= 5, "no receipts")
    process.kill()
    process.communicate()
    wait_until(lambda: not place.processes(), f"left: {place.processes()}")
    receipts = [int(path.stem) for path in disturbed.glob("store/receipt/*.json")]
    assert not (disturbed / "store/manifest.json").exists()
    assert len(receipts) < 40
    assert len(place.folders()) == 1

    assert result_of(place.start("commit", disturbed)) == (0, "", "")
    assert (disturbed / "store/manifest.json").read_bytes() == (undisturbed / "store/manifest.json").read_bytes()
    assert {(disturbed / f"calls-{part}").read_text() for part in receipts} == {"x"}
    assert place.folders() == [], "the folder of the killed process is swept by the next"


def test_a_named_cluster_is_used_and_a_run_ends_when_no_node_is_left(place: Place, tmp_path: Path) -> None:
    code, out, err = result_of(place.start("lose_the_node", tmp_path, RAY_AUTH_MODE="disabled"))
    assert code == 0, err
    without_a_node, first, without_the_node = out.strip().split("\n")
    assert without_a_node.startswith("a worker needs 1 CPU on one node, the cluster has 0 CPU, 0 GPU, ")
    assert first == "[0, 1]"
    assert without_the_node.startswith("no worker lives, and no node is left that could hold one (")


@pytest.mark.ray
def test_a_process_can_start_a_second_ray_after_its_first(tmp_path: Path) -> None:
    program = (
        "from pipeline.engine.local_ray import LocalRay\n"
        "for _ in range(2):\n"
        "    ray = LocalRay()\n"
        "    ray.wait_until_up()\n"
        "    ray.stop()\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
