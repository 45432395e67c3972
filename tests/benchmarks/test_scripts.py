"""The scripts of the benchmark run, at a size that says nothing about speed, and count what they say they count."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(*names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run.py"), "--short", *names]
    return subprocess.run(command, capture_output=True, text=True, timeout=280)


def test_the_scripts_that_need_no_ray_print_their_rows_and_write_nothing():
    before = (FOLDER / "RESULTS.md").read_bytes()
    done = run("task", "waiting", "start", "overhead", "model-client", "session-overhead", "eval-check")
    assert done.returncode == 0, done.stderr
    shown = [line.split(" | ")[0] for line in done.stdout.splitlines()[2:]]
    assert shown == [
        "| trivial Python task, 100,000 rows",
        "| 100,000 rows, async task of 50 ms, 500 in flight",
        "| `assay --help`",
        "| driver CPU a part, 10,000 parts of nothing",
        "| CPU of the client a request to a model",
        "| an evaluated session without model time",
        "| CPU of an evaluated session",
        "| `assay eval check` of a small log",
    ]
    assert (FOLDER / "RESULTS.md").read_bytes() == before


def test_an_unknown_benchmark_is_refused_with_the_known_ones():
    done = run("flor")
    assert done.returncode == 2
    assert "no benchmark is called flor; there are floor, ray-data" in done.stderr


@pytest.mark.ray
def test_a_killed_worker_is_seen_in_the_notes_of_the_workers():
    done = run("killed")
    assert done.returncode == 0, done.stderr
    redone = next(line for line in done.stdout.splitlines() if "parts done again" in line)
    assert redone.split(" | ")[1:3] in (["1", "parts in work 1"], ["1", "parts in work 2"])


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize("name", ["floor", "ray-data", "growth"])
def test_the_scripts_on_ray_run(name):
    done = run(name)
    assert done.returncode == 0, done.stderr


def test_the_exponent_is_that_of_the_power(beside):
    growth = beside("growth")
    runs = [growth.Run(rows, 3e-6 * rows**1.2, None) for rows in (1_000_000, 3_000_000, 10_000_000)]
    assert growth.exponent(runs) == pytest.approx(1.2)


def test_the_peaks_are_those_of_the_driver_and_of_the_worker_below_it(beside):
    memory = beside("memory")
    hold = "import sys, time; held = bytearray({} << 20); print(len(held) >> 20); time.sleep(1.5)"
    worker = [sys.executable, "-c", hold.format(150)]
    # A process shows the name that it was given as its first argument, as Ray's workers show theirs.
    driver = (
        "import subprocess; held = bytearray(80 << 20); "
        f"subprocess.run(['ray::PartActor.run', *{worker[1:]!r}], executable={sys.executable!r}, check=True)"
    )
    stdout, peaks = memory.watch([sys.executable, "-c", driver])
    assert stdout == "150\n"
    assert len(peaks.workers) == 1
    assert 80 << 20 <= peaks.driver_uss <= peaks.driver_rss < 150 << 20
    assert 150 << 20 <= peaks.worker_rss == peaks.workers_rss < 250 << 20


def test_a_command_that_fails_ends_the_benchmark(beside):
    processes = beside("processes")
    with pytest.raises(SystemExit, match="ended with status 3"):
        processes.run([sys.executable, "-c", "import sys; sys.exit(3)"])


def test_cpu_time_is_that_of_the_process_and_not_the_time_it_slept(beside):
    code = "import time; t = time.process_time()\nwhile time.process_time() - t < 0.3: pass\ntime.sleep(0.7)"
    started = time.monotonic()
    done = beside("processes").run([sys.executable, "-c", code])
    assert 0.3 <= done.cpu_s <= time.monotonic() - started - 0.7 + 0.05


def test_peers_that_cannot_be_installed_are_told(beside, monkeypatch, tmp_path):
    environment = beside("peer_environment")
    (tmp_path / "cache").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(environment.NoPeersError, match=r"Not a directory|File exists"):
        environment.peer_command("python")


def test_no_process_of_a_watched_command_is_left(beside):
    before = psutil.Process().children()
    beside("memory").watch([sys.executable, "-c", ""])
    assert [child for child in psutil.Process().children() if child not in before] == []


def test_the_session_by_hand_changes_what_the_session_changes(beside, tmp_path):
    case = beside("session_case").make_case(tmp_path)
    by_hand = beside("session_floor").session_by_hand(case.fixture)
    by_assay = beside("session_overhead").session_by_assay(case, tmp_path / "store")
    changed = [line for line in by_assay.splitlines() if line[:1] in "+-" and line[:4] not in ("--- ", "+++ ")]
    assert changed == ['+test -s "$1" || exit 2']
    assert all(line in by_hand.splitlines() for line in changed)
