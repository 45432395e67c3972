"""The evaluation that is disturbed: its files, its command, and whether it leaves what it leaves undisturbed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from processes import family, kill

from pipeline.store import Store

ROWS = 480
PART_ROWS = 20  # 24 parts of about a tenth of a second each
CALL_BYTES = 7  # of a call in the file of calls: six digits and an end of line

CONFIG = r"""
schema: assay.run
version: 1
name: disturbed
dataset: rows.jsonl
task: work.py:answer
scorers:
  - {use: exact_match, name: exact}
  - {use: regex_match, name: form, pattern: "^[0-9]+ is"}
  - {sql: "CASE WHEN length(\"output\") % 2 = 0 THEN 1.0 ELSE 0.5 END", name: length}
  - {function: work.py:names_its_number}
partition_by: [kind]
"""

WORK = '''
"""A task that writes down each of its calls, and a scorer."""

import os
import time


def answer(n: int, question: str) -> str:
    calls = os.open(os.environ["CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(calls, b"%06d\\n" % n)
    os.close(calls)
    while os.path.exists(os.environ["HOLD"]):
        time.sleep(0.02)
    time.sleep(0.003)
    return f"{n + n % 7} is it"


def names_its_number(output: str, n: int) -> float:
    return 1.0 if str(n) in output else 0.0
'''

_PROGRESS = re.compile(
    r"(running|finalizing|succeeded|failed|canceled) [\d,]+ of [\d,]+ rows \(|starting, ([\d,]+ of )?[\d,]+ rows to do$"
)


class Undisturbed(NamedTuple):
    """What the evaluation leaves when nobody disturbs it."""

    index: bytes
    outcome: Mapping[str, Any]
    """Without its time and the name of its run."""


class Remote(NamedTuple):
    """A store that is not a folder."""

    url: str
    options: Mapping[str, object]
    """Of `Store`."""
    environ: Mapping[str, str]
    """What the command is told of it."""


class Attempt:
    """One start of the command."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process, self._out, self._err = process, out, err
        self.started = time.monotonic()

    @property
    def is_over(self) -> bool:
        """The command has ended."""
        return self.process.poll() is not None

    @property
    def out(self) -> str:
        """What it said on stdout so far."""
        return self._out.read_text()

    @property
    def err(self) -> str:
        """What it said on stderr so far."""
        return self._err.read_text()

    def strange_lines(self) -> list[str]:
        """What on stderr is neither a message of the command nor its progress."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        return [line for line in lines if not line.startswith("assay: ") and not _PROGRESS.match(line)]


class Site:
    """One store, and the commands that are at work on it: with a temporary folder and a file of calls of their own."""

    def __init__(self, workplace: Path, folder: Path, engine: str, remote: Remote | None = None) -> None:
        """Make the site below `folder`, with a store there unless it is a remote one."""
        folder.mkdir(parents=True)
        self.workplace, self.folder, self.engine = workplace, folder, engine
        self.url = remote.url if remote else str(folder / "store")
        self.store = Store(self.url, options=remote.options) if remote else Store(self.url)
        self.temp = tempfile.mkdtemp(prefix="k", dir="/tmp")  # short: Ray's sockets lie below it
        self._calls = folder / "calls"
        self._local = None if remote else Path(self.url)
        self.hold = folder / "hold"
        """While this file is there, no call of the task returns."""
        own = {"TMPDIR": self.temp, "CALLS": str(self._calls), "HOLD": str(self.hold)}
        self._environ = own | dict(remote.environ if remote else {})
        self.attempts: list[Attempt] = []

    def start(self, *more: str) -> Attempt:
        """Start the command, the same each time but for `more`."""
        number = len(self.attempts)
        out, err = self.folder / f"out-{number}", self.folder / f"err-{number}"
        command = [
            sys.executable, "-m", "pipeline.cli", "run", str(self.workplace / "run.yaml"), "--store", self.url,
            "--engine", self.engine, "--part-rows", str(PART_ROWS), "--json", *more,
        ]  # fmt: skip
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "ASSAY_"))}
        environ |= self._environ
        with out.open("wb") as to, err.open("wb") as errors:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environ, stdout=to, stderr=errors, start_new_session=True
            )
        self.attempts.append(Attempt(process, out, err))
        return self.attempts[-1]

    def calls(self) -> Counter[int]:
        """How often the task was called, by row."""
        if not self._calls.exists():
            return Counter()
        return Counter(int(line) for line in self._calls.read_bytes().split())

    def n_calls(self) -> int:
        """How often the task was called in all."""
        with contextlib.suppress(FileNotFoundError):
            return self._calls.stat().st_size // CALL_BYTES
        return 0

    def n_receipts(self) -> int:
        """Parts that are done."""
        if self._local is not None:  # asked for every few milliseconds
            return sum(1 for _ in self._local.glob("runs/*/receipt/*.json"))
        return sum("/receipt/" in key for key in self.store.list("runs/"))

    def has_index(self) -> bool:
        """The result is committed."""
        return bool(self.runs_with("manifest.json"))

    def runs_with(self, name: str) -> list[str]:
        """The ids of the runs that have an object of this name."""
        if self._local is not None:
            return [path.parent.name for path in self._local.glob(f"runs/*/{name}")]
        keys = [key for key in self.store.list("runs/") if key.count("/") == 2 and key.endswith(f"/{name}")]
        return [key.split("/")[1] for key in keys]

    def result(self) -> Undisturbed:
        """The index and the outcome of the one run that has them."""
        (run,) = self.runs_with("manifest.json")
        outcome = json.loads(self.store.read(f"runs/{run}/outcome.json"))
        for of_the_attempt in ("completed_at", "duration_s", "result_dataset_id", "sha256"):
            outcome.pop(of_the_attempt, None)
        return Undisturbed(self.store.read(f"runs/{run}/manifest.json"), outcome)

    def rows(self) -> Counter[int]:
        """How often each row stands in the files of the index. Raises AssertionError for a file that is not as told."""
        found: Counter[int] = Counter()
        for path, digest in self._files().items():
            data = self.store.read(path)
            assert hashlib.sha256(data).hexdigest() == digest, f"{path} has another digest"
            found.update(pq.read_table(io.BytesIO(data), columns=["__assay_row_id"])[0].to_pylist())
        return found

    def stray_files(self) -> list[str]:
        """Data of the run that its index does not name."""
        (run,) = self.runs_with("manifest.json")
        named = self._files()
        return [key for key in self.store.list(f"runs/{run}/data/") if key not in named]

    def _files(self) -> dict[str, str]:
        (run,) = self.runs_with("manifest.json")
        receipts = json.loads(self.store.read(f"runs/{run}/manifest.json"))["receipts"]
        return {f"runs/{run}/{file['path']}": file["sha256"] for receipt in receipts for file in receipt["files"]}

    def sweep(self) -> None:
        """Do what the next start of a worker and of a local Ray does first, with the leftovers of killed ones.

        A command that finds every part done starts neither.
        """
        program = (
            "from pipeline.engine import local_ray\n"
            "from pipeline.store import scratch_folder\n"
            "local_ray._sweep_dead_folders()\n"
            "with scratch_folder('part'):\n"
            "    pass\n"
        )
        environ = os.environ | self._environ
        subprocess.run([sys.executable, "-c", program], cwd=self.workplace, env=environ, check=True, timeout=120)

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.temp, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def site(workplace: Path, folder: Path, engine: str, remote: Remote | None = None) -> Iterator[Site]:
    """A site that is removed at the end, with the commands that are still at work on it."""
    made = Site(workplace, folder, engine, remote)
    try:
        yield made
    finally:
        for attempt in made.attempts:
            if not attempt.is_over:
                attempt.process.kill()
            attempt.process.wait()
        for process in family(made.temp):  # agents of killed Rays: see `processes.ORPHANS`
            kill(process)
        made.close()


def make_workplace(folder: Path, rows: int = ROWS) -> Path:
    """A folder with the rows, each of them unlike all others, the config and its code."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rows.jsonl").open("w") as file:
        for n in range(rows):
            row = {
                "n": n,
                "question": f"how much is {n} and {n % 7}",
                "kind": ("small", "middle", "large")[n % 3],
                "expected": f"{n + n % 7} is it" if n % 5 else "nothing",
            }
            file.write(json.dumps(row) + "\n")
    (folder / "run.yaml").write_text(CONFIG.lstrip())
    (folder / "work.py").write_text(WORK.lstrip())
    return folder


def undisturbed(workplace: Path, folder: Path) -> Undisturbed:
    """Carry the evaluation out without a disturbance, in one process."""
    with site(workplace, folder, "inline") as place:
        attempt = place.start()
        code = attempt.process.wait(300)
        assert code == 0, attempt.err
        assert set(place.rows().values()) == {1}
        return place.result()
