"""Temporary folders: removed by whoever made them, or by the next process where that one was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pipeline.store.scratch import scratch_folder
with scratch_folder("part") as folder:
    (folder / "rows").write_text("some")
    print(folder, flush=True)
    sys.stdin.read()
"""


def start(place: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"TMPDIR": str(place)},
    )  # fmt: skip
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_killed_process_leaves_its_folder_to_the_next_and_a_living_one_keeps_its_own(tmp_path: Path) -> None:
    killed, left = start(tmp_path)
    living, kept = start(tmp_path)
    killed.kill()
    killed.communicate()
    assert (left / "rows").exists()
    third, own = start(tmp_path)
    assert not left.exists()
    assert (kept / "rows").exists()
    for process in (living, third):
        process.communicate()
    assert not kept.exists()
    assert not own.exists()


@pytest.mark.parametrize("age_s, is_left", [(0, True), (7200, False)])
def test_a_folder_without_a_lock_is_removed_when_it_is_old(tmp_path: Path, age_s: int, is_left: bool) -> None:
    folder = tmp_path / "assay-part-x"
    folder.mkdir()
    os.utime(folder, (time.time() - age_s,) * 2)
    process, _ = start(tmp_path)
    process.communicate()
    assert folder.exists() == is_left
