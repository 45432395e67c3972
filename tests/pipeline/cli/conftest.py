"""A working directory of its own for each test, with a table in it, and the command line to call there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli import main


class Said(NamedTuple):
    """What a command left on the screen, and its exit status."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Assay = Callable[..., Said]

ANSWERS = pa.table(
    {
        "id": [1, 2, 3, 4],
        "family": ["sums", "sums", "words", "words"],
        "answer": ["4", "five", "cat", None],
        "gold": ["4", "5", "cat", "dog"],
    }
)
"""exact_match: 1, 0, 1, 0."""


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: `answers.parquet`, no store yet, no settings from outside."""
    for name in ("ASSAY_STORE", "ASSAY_TRUST", "ASSAY_DEBUG", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    pq.write_table(ANSWERS, tmp_path / "answers.parquet")
    return tmp_path


@pytest.fixture
def assay(capfdbinary: pytest.CaptureFixture[bytes]) -> Assay:
    """Carry out one command line in this process."""

    def call(*arguments: object) -> Said:
        capfdbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Said(code, out.decode(), err.decode())

    return call


@pytest.fixture
def program(workplace: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start `assay` as a process of its own."""

    def start(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pipeline.cli", *map(str, arguments)]
        return subprocess.Popen(command, cwd=workplace, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.fixture
def config(workplace: Path) -> Callable[[str], Path]:
    """Write an `assay.run` config about `answers.parquet`; the text goes below its head."""

    def write(text: str, name: str = "run.yaml") -> Path:
        path = workplace / name
        path.write_text(f"schema: assay.run\nversion: 1\nname: demo\ndataset: answers.parquet\n{text}")
        return path

    return write
