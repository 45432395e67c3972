"""A worker of a real evaluation is killed in mid-run.

python benchmarks/killed_worker.py [--short]      one JSON object

The evaluation is the spine's job on two workers of a local Ray. Each worker notes when it begins and ends a part, in a
file outside the result, so that what was done twice is counted and not inferred.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import floor
from inputs import SHORT_ROWS, kept_rows, million_rows
from report import Row, tell

import scorers
from pipeline.engine import Place, StopSignal
from pipeline.evaluation.carry_out import RunOptions, carry_out
from pipeline.evaluation.progress import ProgressCounter
from pipeline.evaluation.score_files import FileScoring, prepare_folder
from pipeline.records.plan import Part, Receipt

KILL_AFTER = (0.25, 0.5, 0.7)  # share of the parts that are done; a run each
MAX_NEW_RESULT_S = 5.0
WORKERS = 2
POLL_S = 0.01
IN_WORK_S = 0.05  # a part that was begun that long ago is killed in its midst


@dataclass(frozen=True)
class Note:
    """What a worker wrote down."""

    part: int
    pid: int
    at: float
    """Unix seconds."""
    is_end: bool


@dataclass(frozen=True)
class Noted:
    """A spec whose workers note what they do; what else it is asked, the evaluation's own spec answers."""

    spec: Any
    notes: str
    """The file."""
    hold_s: float
    """Added to each part, so that few rows take long enough to be killed in their midst."""

    def __getattr__(self, name: str) -> Any:
        if name in ("spec", "notes", "hold_s") or name.startswith("__"):  # being unpickled
            raise AttributeError(name)
        return getattr(self.spec, name)

    def with_journal(self, *given: Any) -> Noted:
        """The evaluation's spec makes another of itself when a run begins."""
        return replace(self, spec=self.spec.with_journal(*given))

    def open(self, place: Place) -> NotedWorker:
        return NotedWorker(self.spec.open(place), self.notes, self.hold_s)


class NotedWorker:
    """A worker of the evaluation, and its notes."""

    def __init__(self, worker: Any, notes: str, hold_s: float) -> None:
        self._worker, self._notes, self._hold_s = worker, notes, hold_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worker, name)

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:
        self._note(part, is_end=False)
        time.sleep(self._hold_s)
        receipt: Receipt = self._worker.run_part(part, attempt)
        self._note(part, is_end=True)
        return receipt

    def _note(self, part: Part, *, is_end: bool) -> None:
        line = json.dumps({"part": part.index, "pid": os.getpid(), "at": time.time(), "is_end": is_end})
        with open(self._notes, "ab", buffering=0) as file:  # one write: lines of two workers do not mix
            file.write(line.encode() + b"\n")


class Undisturbed(NamedTuple):
    """A run that nobody hindered."""

    seconds: float
    manifest: bytes


class Disturbed(NamedTuple):
    """A run of which one worker was killed."""

    seconds: float
    redone: int
    """Parts that were begun more often than once."""
    in_work: int
    """Parts in work when the worker was killed."""
    new_result_s: float
    """From the kill to the receipt of the part that was lost."""
    new_worker_s: float | None
    """From the kill to the first part that its successor begins; None where the run was over before."""


def notes_in(path: Path) -> list[Note]:
    """All that was noted; a line that is being written is left aside."""
    if not path.exists():
        return []
    return [Note(**json.loads(line)) for line in path.read_text().split("\n")[:-1]]


def run(source: Path, folder: Path, *, part_rows: int | None, hold_s: float) -> Undisturbed:
    """The evaluation, its notes in `<folder>.notes`."""
    built = (
        scorers.exact_match(name="exact"),
        scorers.contains(inputs=("output", "needle")),
        scorers.regex_match(floor.PATTERN, name="regex"),
        scorers.levenshtein(),
    )
    scoring = FileScoring([str(source)], built, part_rows=part_rows)
    prepared = prepare_folder(scoring, folder)
    job = prepared.prepared.job(prepared.folder.store, "", prepared.prepared_s)
    job = replace(job, work=Noted(job.work, str(_notes_of(folder)), hold_s))
    options = RunOptions(engine="ray", workers=WORKERS)
    committed = carry_out(job, options, ProgressCounter(job.plan), StopSignal())
    if not notes_in(_notes_of(folder)):
        raise SystemExit("the workers noted nothing: what they are asked has another name")
    return Undisturbed(committed.duration_s, committed.manifest.to_bytes())


def run_killed(source: Path, folder: Path, after: int, whole: Undisturbed, **how: Any) -> Disturbed:
    """The same, and one worker is killed when `after` parts are done.

    Raises:
        SystemExit: the index is another than that of the undisturbed run.
    """
    kills: list[tuple[Note, float, int]] = []
    is_over = threading.Event()
    killer = threading.Thread(target=_kill_in_part, args=(_notes_of(folder), after, kills, is_over))
    killer.start()
    try:
        ended = run(source, folder, **how)
    finally:
        is_over.set()
        killer.join()
    if not kills:
        raise SystemExit("the run was over before a worker could be killed")
    if ended.manifest != whole.manifest:
        raise SystemExit("the index differs from that of the undisturbed run")
    lost, killed_at, in_work = kills[0]
    notes = notes_in(_notes_of(folder))
    begun = [note for note in notes if not note.is_end]
    before = {note.pid for note in notes if note.at <= killed_at}
    return Disturbed(
        ended.seconds,
        len(begun) - len({note.part for note in begun}),
        in_work,
        min(note.at for note in notes if note.is_end and note.part == lost.part) - killed_at,
        min((note.at - killed_at for note in begun if note.pid not in before), default=None),
    )


def _kill_in_part(path: Path, after: int, kills: list[tuple[Note, float, int]], is_over: threading.Event) -> None:
    """Kill the worker of the part that was begun last, in its midst."""
    while not is_over.wait(POLL_S):
        notes = notes_in(path)
        ended = {note.part for note in notes if note.is_end}
        in_work = [note for note in notes if note.part not in ended]
        if len(ended) >= after and in_work and time.time() - in_work[-1].at >= IN_WORK_S:
            os.kill(in_work[-1].pid, signal.SIGKILL)
            kills.append((in_work[-1], time.time(), len(in_work)))
            return


def _notes_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.notes")


def measure(is_short: bool) -> list[Row]:
    """Short: few rows, one kill."""
    source, shares = (kept_rows(SHORT_ROWS), KILL_AFTER[1:2]) if is_short else (million_rows(), KILL_AFTER)
    how = {"part_rows": SHORT_ROWS // 8, "hold_s": 0.2} if is_short else {"part_rows": None, "hold_s": 0.0}
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        whole = run(source, Path(name, "undisturbed"), **how)
        n_parts = len({note.part for note in notes_in(Path(name, "undisturbed.notes"))})
        killed = [
            run_killed(source, Path(name, f"killed-{share}"), round(share * n_parts), whole, **how) for share in shares
        ]
    return [_redone_row(killed, n_parts), _delay_row(killed, whole)]


def _redone_row(killed: list[Disturbed], n_parts: int) -> Row:
    return Row(
        "a killed worker: parts done again",
        ", ".join(str(run.redone) for run in killed),
        f"parts in work {', '.join(str(run.in_work) for run in killed)}",
        target="≤ parts in work",
        is_met=all(run.redone <= run.in_work for run in killed),
        detail=f"the spine's job in {n_parts} parts on two workers; one of them gets SIGKILL in the midst of a part, "
        f"once a run in {len(killed)} runs. Parts begun, less the parts of the plan; the index was byte-identical to "
        "that of the undisturbed run each time.",
    )


def _delay_row(killed: list[Disturbed], whole: Undisturbed) -> Row:
    delays = [run.new_result_s for run in killed]
    comings = ", ".join(
        "not before the end" if run.new_worker_s is None else f"{run.new_worker_s:.2f} s" for run in killed
    )
    return Row(
        "a killed worker: until the lost part's result",
        f"{max(delays):.2f} s",
        target=f"< {MAX_NEW_RESULT_S:g} s",
        is_met=max(delays) < MAX_NEW_RESULT_S,
        detail=f"from the kill to the receipt of the part that was lost, the largest of "
        f"{', '.join(f'{delay:.2f}' for delay in delays)} s. Until the killed worker's successor began its first part: "
        f"{comings}. The runs took {', '.join(f'{run.seconds:.2f}' for run in killed)} s, the undisturbed one "
        f"{whole.seconds:.2f} s.",
    )


if __name__ == "__main__":
    tell(measure)
