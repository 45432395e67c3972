"""A local store that fails in the middle of a run: what is told, what is left, and that the same command goes on."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from errno_at import is_possible, refuse_fsync

from pipeline.store import Store
from pipeline.store.commit import read_manifest, verify

HERE = Path(__file__).parent
TEXT = hashlib.shake_256(b"what zstd cannot make smaller").hexdigest(400_000)
ROWS = pa.table({"n": range(4000), "answer": [TEXT[n * 200 : n * 200 + 200] for n in range(4000)]})
CONFIG = """schema: assay.run
version: 1
name: full
dataset: answers.parquet
task: task.py:echo
scorers:
  - {use: exact_match, name: exact, inputs: [output, answer]}
"""
# The fault begins in the third of four parts, in the worker's thread: where a disk would break while a run goes on.
TASK = """
import resource, sys
from pathlib import Path
sys.path.append({here!r})

def echo(n: int, answer: str) -> str:
    if n == 2000 and not Path({well!r}).exists():
        {fault}
    return answer
"""
FAULTS = {
    "an I/O error": ("import errno_at; errno_at.refuse_fsync(5)", "Input/output error"),
    "a quota": ("import errno_at; errno_at.refuse_fsync(122)", "the disk quota is used up; free some space"),
    "a disk that tells late that it is full": ("import errno_at; errno_at.refuse_fsync(28)", "the disk is full; free"),
    "too many open files": (
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
        "Too many open files|too many files are open; raise the limit",
    ),
    "a limit of the size of files": (
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, -1))",
        r"a file may not become so large here; raise the limit \(ulimit -f\)",
    ),
}


class Said(NamedTuple):
    code: int
    err: str


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    pq.write_table(ROWS, tmp_path / "answers.parquet")
    (tmp_path / "run.yaml").write_text(CONFIG)
    write_task(tmp_path, "pass")
    return tmp_path


def write_task(folder: Path, fault: str) -> None:
    (folder / "task.py").write_text(TASK.format(here=str(HERE), well=str(folder / "well"), fault=fault))


@pytest.fixture
def assay(workplace: Path) -> Callable[..., Said]:
    """`assay run` in a process of its own; `shell` comes before, where it may mount what it likes."""

    def call(store: str, shell: str = "") -> Said:
        line = [sys.executable, "-m", "pipeline.cli", "run", "run.yaml", "--store", store, "--engine", "inline"]
        line += ["--part-rows", "1000", "--quiet"]
        if shell:
            script = f"set -e; {shell}; set +e; {' '.join(line)}; code=$?; cp -r store/. kept; exit $code"
            line = ["unshare", "--mount", "--user", "--map-root-user", "sh", "-c", script]
        (workplace / "kept").mkdir(exist_ok=True)
        ended = subprocess.run(line, cwd=workplace, capture_output=True, text=True, timeout=120)
        return Said(ended.returncode, ended.stderr)

    return call


def result_of(store: Path) -> bytes:
    [run] = (store / "runs").iterdir()
    opened = Store(store)
    manifest = read_manifest(opened, f"runs/{run.name}")
    assert manifest is not None
    verify(opened, f"runs/{run.name}", manifest)
    return manifest.to_bytes()


def check_what_is_left(store: Path) -> dict[Path, int]:
    """Nothing torn and no result; what is there has the digest in its name. Returns the receipts and their times."""
    assert not list(store.rglob("*.tmp"))
    assert not list(store.rglob("manifest.json"))
    for file in store.glob("runs/*/data/**/*.parquet"):
        assert hashlib.sha256(file.read_bytes()).hexdigest() == file.stem
    return {file.relative_to(store): file.stat().st_mtime_ns for file in store.glob("runs/*/receipt/*.json")}


def check_clean(said: Said, place: str) -> None:
    assert said.code == 2, said
    assert "Traceback" not in said.err
    assert "a defect of assay" not in said.err
    assert place in said.err


def can_mount() -> bool:
    line = ["unshare", "--mount", "--user", "--map-root-user", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"]
    return shutil.which("unshare") is not None and subprocess.run(line, capture_output=True).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="no user namespace may mount a tmpfs here")


SLOW = ("an I/O error", "a quota", "too many open files")  # tried again and again before they are told


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in FAULTS])
def test_a_run_whose_disk_fails_is_told_so_and_the_same_command_goes_on(name, workplace, assay):
    fault, text = FAULTS[name]
    if "errno_at" in fault and not is_possible():
        pytest.skip("seccomp filters are Linux's, on x86-64 and ARM64")
    write_task(workplace, fault)
    said = assay("store")
    check_clean(said, str(workplace / "store") if "size" not in name else "")
    assert any(piece in said.err.replace("\\", "") for piece in text.replace("\\", "").split("|")), said.err
    before = check_what_is_left(workplace / "store")
    assert len(before) == 2, "the parts before the fault are kept"

    (workplace / "well").touch()
    assert assay("store").code == 0
    after = {file: (workplace / "store" / file).stat().st_mtime_ns for file in before}
    assert after == before, "a part was done again"
    assert assay("undisturbed").code == 0
    assert result_of(workplace / "store") == result_of(workplace / "undisturbed")


@needs_mounts
def test_a_store_that_fills_up_keeps_what_is_done_and_goes_on_when_there_is_room(workplace, assay):
    (workplace / "store").mkdir()
    said = assay("store", "mount -t tmpfs -o size=900k none store")
    check_clean(said, str(workplace / "store"))
    assert "the disk is full; free some space, then run the same command again" in said.err
    before = check_what_is_left(workplace / "kept")
    assert 1 <= len(before) < 4
    assert assay("kept").code == 0
    assert assay("undisturbed").code == 0
    assert result_of(workplace / "kept") == result_of(workplace / "undisturbed")
    assert len(list(workplace.glob("kept/runs/*/attempts/*"))) == 2, "the same run went on"


@needs_mounts
def test_a_full_folder_for_temporary_files_is_named(workplace, assay):
    (workplace / "scratch").mkdir()
    said = assay("store", "mount -t tmpfs -o size=100k none scratch; mkdir store; export TMPDIR=$PWD/scratch")
    check_clean(said, str(workplace / "scratch"))
    assert "the disk is full; free some space" in said.err
    assert assay("store").code == 0


@needs_mounts
def test_a_read_only_store_is_refused(workplace, assay):
    (workplace / "store").mkdir()
    said = assay("store", "mount -t tmpfs -o ro none store")
    check_clean(said, str(workplace / "store"))
    assert "the file system is read-only; use another folder as the store" in said.err


@pytest.mark.skipif(not is_possible(), reason="seccomp filters are Linux's, on x86-64 and ARM64")
def test_the_filter_of_these_tests_gives_the_error_that_it_is_asked_for(tmp_path):
    import threading

    caught: list[int | None] = []

    def sync() -> None:
        refuse_fsync(errno.EDQUOT)
        try:
            with open(tmp_path / "x", "wb") as file:
                os.fsync(file.fileno())
        except OSError as error:
            caught.append(error.errno)

    thread = threading.Thread(target=sync)
    thread.start()
    thread.join()
    assert caught == [errno.EDQUOT]
