"""The work of these tests: 400 rows in 40 parts, and what a run of it leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

ROWS, PART_ROWS = 400, 10
PARTS = ROWS // PART_ROWS

CONFIG = """\
schema: assay.run
version: 1
name: squares
dataset: rows.jsonl
task: slow.py:answer
scorers:
  - {use: exact_match, name: right}
"""

TASK = """\
import os
import time


def answer(n: int, text: str, calls: str) -> str:
    node = os.getppid()  # the parent of a worker is the raylet of its node
    while os.path.exists(f"{calls}/hold-{node}"):
        time.sleep(0.05)
    with open(f"{calls}/{n}", "a") as file:
        file.write(f"{node}\\n")
    with open(f"{calls}/pace") as file:
        time.sleep(float(file.read()))
    return f"{text} {n * n}"
"""


class Work(NamedTuple):
    """A folder with rows, a task and a config. Each call of the task leaves a line: which node's worker it was."""

    folder: Path

    @classmethod
    def lay_out(cls, folder: Path) -> Work:
        work = cls(folder)
        work.calls.mkdir(parents=True)
        rows = [
            {"n": n, "text": f"row {n}", "calls": str(work.calls), "expected": f"row {n} {n * n}"} for n in range(ROWS)
        ]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "slow.py").write_text(TASK)
        (folder / "run.yaml").write_text(CONFIG)
        return work

    @property
    def calls(self) -> Path:
        return self.folder / "calls"

    def command(self, store: Path, *options: str) -> list[str]:
        """The arguments of `assay`."""
        return [
            "run",
            str(self.folder / "run.yaml"),
            "--store",
            str(store),
            "--part-rows",
            str(PART_ROWS),
            "-q",
            *options,
        ]

    def callers(self) -> dict[int, list[int]]:
        """Row → the nodes that worked on it, in order."""
        return {int(path.name): [int(n) for n in path.read_text().split()] for path in self.calls.glob("[0-9]*")}

    def nodes_at_work(self) -> set[int]:
        return {node for nodes in self.callers().values() for node in nodes}

    def begin(self, pace: float) -> None:
        """Forget the calls of before; a row takes `pace` seconds from now on."""
        for path in self.calls.iterdir():
            path.unlink()
        (self.calls / "pace").write_text(str(pace))


def index_of(store: Path) -> dict[str, bytes]:
    """The manifest, the receipts and the data of the one run of a store, by path."""
    (run,) = store.glob("runs/*")
    kept = [run / "manifest.json", *run.glob("receipt/*"), *run.glob("data/*")]
    return {str(path.relative_to(run)): path.read_bytes() for path in kept if path.exists()}


def n_receipts(store: Path) -> int:
    return len(list(store.glob("runs/*/receipt/*.json")))
