"""Ctrl-C, kills, cancels and resumes of real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli.interruption import STOPPING

ROWS = 20_000
PART_ROWS = 4_096
Program = Callable[..., subprocess.Popen[str]]
SLOW = "slow.py:slow"


@pytest.fixture
def slow(workplace: Path) -> Path:
    """Five parts; row 10,000 waits until the file `open` is there."""
    pq.write_table(pa.table({"output": [str(number) for number in range(ROWS)]}), workplace / "rows.parquet")
    (workplace / "slow.py").write_text(
        "import time\nfrom pathlib import Path\n\nHERE = Path(__file__).parent\n\n"
        "def slow(output: str) -> float:\n"
        "    if output == '10000':\n"
        "        (HERE / 'reached').touch()\n"
        "        while not (HERE / 'open').exists():\n"
        "            time.sleep(0.02)\n"
        "    return 1.0\n"
    )
    return workplace


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def press_ctrl_c_twice(process: subprocess.Popen[str]) -> None:
    """The second once the first is answered: two signals at once would count as one."""
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "stopping: " not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)


def score(*more: str) -> list[str]:
    return ["score", "rows.parquet", "-s", SLOW, "--engine", "inline", "--json", "--part-rows", str(PART_ROWS), *more]


def test_ctrl_c_keeps_finished_parts_and_the_same_command_goes_on(slow: Path, program: Program) -> None:
    process = program(*score("--to", "out"))
    wait_for(slow / "reached", process)
    press_ctrl_c_twice(process)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert len(list((slow / "out" / "receipt").iterdir())) == 10_000 // PART_ROWS
    (slow / "open").touch()
    again = program(*score("--to", "out"))
    out, err = again.communicate(timeout=60)
    assert (again.returncode, json.loads(out)["rows"]) == (0, ROWS), err
    assert pq.read_table([*(slow / "out" / "data").iterdir()]).num_rows == ROWS


def test_ctrl_c_in_a_run_says_how_to_resume(slow: Path, program: Program, assay) -> None:
    process = program(*score())
    wait_for(slow / "reached", process)
    press_ctrl_c_twice(process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    stopped = json.loads(out)
    assert (stopped["status"], stopped["summary"]) == ("canceled", None)
    assert f"go on with: assay resume {stopped['run']}" in err
    shown = assay("show", "latest")
    assert "status      canceled" in shown.out
    assert f"assay resume {stopped['run']}" in shown.out
    assert assay("results", "latest").code == 1
    assert assay("results", "latest", "--json").json["status"] == "canceled"
    (slow / "open").touch()
    resumed = program("resume", stopped["run"][-8:], "--json", "--engine", "inline")
    out, err = resumed.communicate(timeout=60)
    assert (resumed.returncode, json.loads(out)["run"], json.loads(out)["rows"]) == (0, stopped["run"], ROWS), err


def test_a_kill_is_survived_by_the_same_command(slow: Path, program: Program, assay) -> None:
    process = program(*score())
    wait_for(slow / "reached", process)
    process.kill()
    process.communicate()
    assert assay("runs", "--json").json[0]["status"] == "failed"
    (slow / "open").touch()
    again = program(*score())
    out, err = again.communicate(timeout=60)
    assert (again.returncode, json.loads(out)["rows"]) == (0, ROWS), err
    assert len(assay("runs", "--json").json) == 1


def test_a_run_is_canceled_from_another_process_and_a_living_one_is_not_resumed(
    slow: Path, program: Program, assay
) -> None:
    process = program(*score())
    wait_for(slow / "reached", process)
    refused = assay("resume", "latest", "--quiet")
    assert refused.code == 1
    assert "is being driven by process" in refused.err
    assert assay("cancel", "latest").code == 0
    (slow / "open").touch()
    out, err = process.communicate(timeout=60)
    assert process.returncode in (0, 130), err  # the cancel is seen within seconds; the work may be done by then
    assert json.loads(out)["status"] in ("succeeded", "canceled")


def test_ctrl_c_before_the_work_is_130(workplace: Path, program: Program) -> None:
    (workplace / "waits.py").write_text(
        "import time\nfrom pathlib import Path\nPath(__file__).with_name('reached').touch()\ntime.sleep(60)\n"
    )
    process = program("score", "answers.parquet", "--output-column", "answer", "-s", "waits.py:f")
    wait_for(workplace / "reached", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")


IN_A_CALLBACK = (
    "import os, signal, time, weakref\n\n"
    "class Watched:\n    pass\n\n"
    "def press(reference):\n    os.kill(os.getpid(), signal.{signal})\n    time.sleep(0.001)\n\n"
    "watched = Watched()\nreference = weakref.ref(watched, press)\ndel watched\n"
    "time.sleep(60)\n"
)


IN_AN_EXEC = "exec('import os, signal, time; os.kill(os.getpid(), signal.{signal}); time.sleep(60)')\n"


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("place", [IN_A_CALLBACK, IN_AN_EXEC], ids=["callback", "exec"])
def test_a_signal_is_not_lost_and_ends_with_130_wherever_python_was(
    workplace: Path, program: Program, place: str, number: str
) -> None:
    (workplace / "pressed.py").write_text(place.format(signal=number))
    process = program("score", "answers.parquet", "--output-column", "answer", "-s", "pressed.py:f")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")


BEFORE_THE_RUN_BEGAN = (
    "import os, signal, time, weakref\n"
    "from pipeline.cli.interruption import ctrl_c\n\n"
    "class Watched:\n    pass\n\n"
    "def not_begun():\n    raise KeyboardInterrupt\n\n"
    "def press(reference):\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(0.001)\n\n"
    "with ctrl_c(not_begun, lambda: print('killed')):\n"
    "    watched = Watched()\n    reference = weakref.ref(watched, press)\n"
    "    try:\n        del watched\n        time.sleep(60)\n"
    "    except KeyboardInterrupt:\n        print('interrupted')\n"
)


def test_a_signal_that_came_in_a_callback_before_the_run_began_is_told_once_and_does_not_kill() -> None:
    process = subprocess.run(
        [sys.executable, "-c", BEFORE_THE_RUN_BEGAN], capture_output=True, text=True, timeout=30, check=True
    )
    assert (process.stdout, process.stderr) == ("interrupted\n", f"assay: {STOPPING}\n")
