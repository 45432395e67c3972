"""A disk that is full while a session runs: exit 2, one line that names the place, and never a verdict on the model."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.formats.zon import write_zon
from pipeline.session.audit_log import verify_log

BIG = "head -c 300000 /dev/urandom | base64 > big; echo made"
TURNS = [
    {"tool_calls": [{"tool": "exec", "arguments": {"command": "cat src/sum.sh"}}]},
    {
        "tool_calls": [
            {"tool": "edit_file", "arguments": {"path": "src/sum.sh", "old": "total=0", "new": "total=0\n:"}},
            {"tool": "exec", "arguments": {"command": BIG}},
            {"tool": "finish", "arguments": {}},
        ]
    },
]


def in_own_mounts(folder: Path, size_kb: int, command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command where a folder has only so much room."""
    line = f"mount -t tmpfs -o size={size_kb}k tmpfs {shlex.quote(str(folder))} && exec {shlex.join(command)}"
    as_user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    unshare = ["unshare", *as_user, "--mount", "sh", "-c", line]
    return subprocess.run(unshare, capture_output=True, text=True, timeout=120, check=False, **more)


@pytest.fixture
def place(workplace: Path, honest: ModuleType) -> Path:
    tried = workplace / "tried"
    tried.mkdir()
    if in_own_mounts(tried, 64, ["true"]).returncode != 0:
        pytest.skip("the kernel lets no ordinary process mount a small disk")
    honest.make_fixture(workplace / "fixture")
    (workplace / "script.json").write_text(json.dumps(TURNS))
    spec = {
        "schema": "chock.eval", "version": 1, "name": "sum", "task": "Mend it.", "fixture": "fixture",
        "provider": "scripted", "model": "script.json", "capture": "captures/sum.json",
        "tests": [{"name": "unit", "argv": ["sh", "tests/unit.sh"]}],
    }  # fmt: skip
    (workplace / "sum.zon").write_text(write_zon(spec))
    return workplace


@pytest.mark.parametrize(
    ("full", "size_kb"),
    [("store", size) for size in (4, 8, 12, 20, 40, 450, 900)]
    + [("captures", 64)]
    + [("temporary", size) for size in (8, 64, 150, 300, 600, 800, 1000)],
)
def test_a_full_disk_is_a_fault_that_names_its_place(place: Path, full: str, size_kb: int) -> None:
    (place / full).mkdir()
    command = [sys.executable, "-m", "pipeline.cli", "eval", "run", "sum.zon", "--store", "store", "--quiet"]
    environment = {"TMPDIR": str(place / "temporary")} if full == "temporary" else {}
    # What lies on the small disk is gone with the process: the log is copied while it is there.
    keep = f"{shlex.join(command)}; status=$?; cp -r store kept 2>/dev/null; exit $status"
    done = in_own_mounts(
        place / full, size_kb, ["env", *(f"{name}={value}" for name, value in environment.items()), "sh", "-c", keep],
        cwd=place,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("assay: ")
    assert done.stderr.count("\n") == 1
    assert full in done.stderr
    assert "full" in done.stderr or "No space left" in done.stderr
    assert done.stdout == ""
    for log in (place / "kept").glob("sessions/*/log.jsonl"):
        if log.stat().st_size:
            assert verify_log(log).verdict == "intact"
