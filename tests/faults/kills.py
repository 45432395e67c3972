"""Kill a run at seeded points, give the same command again, and hold what it leaves against an undisturbed run.

`python tests/faults/kills.py [KILLS] [SEED]` does so KILLS times and prints what became of it as a table.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))  # also where this file is loaded from elsewhere

from disturbed import PART_ROWS, ROWS, Attempt, Remote, Site, Undisturbed, make_workplace, site, undisturbed
from processes import Process, Victim, family, kill, survivors, victims, within

PARTS = ROWS // PART_ROWS
WORKERS = 2  # at most in a run on Ray of a machine with two cores; more cores, more parts in flight
MAX_STARTS = 30  # of one command; far more than kills in a course
PATIENCE_S = 180.0  # for one start of the command on a busy machine
GONE_S = 15.0  # for everybody to be gone after a kill, a start of Ray that was cut short included
START_S = {"inline": 1.5, "ray": 6.0}  # until the first part is in work, about


class Stage(StrEnum):
    """When somebody is killed."""

    START = "start"
    WORK = "work"
    COMMIT = "commit"
    AFTER = "after the commit"


class Blow(NamedTuple):
    """One SIGKILL to come."""

    victim: Victim
    stage: Stage
    share: float
    """0 to 1: of the usual time of a start, of the parts, or of the short time that the others last."""


class Course(NamedTuple):
    """One disturbed run: the same command until it is done, and the blows that fall meanwhile."""

    seed: int
    engine: str
    blows: tuple[Blow, ...]


@dataclass
class Toll:
    """What became of a course."""

    course: Course
    kills: list[Blow] = field(default_factory=list)
    starts: int = 0
    lost: int = 0
    doubled: int = 0
    redone: int = 0
    """Calls of the task beyond one a row."""
    is_equal: bool = False
    problems: list[str] = field(default_factory=list)
    """What is wrong, in words; nothing where all is well."""


def plan(kills: int, seed: int) -> list[Course]:
    """Courses with so many blows in all, from a seed: of 25, 8 at inline drivers, 4 at drivers on Ray, 7 at workers…"""
    dice = random.Random(seed)
    courses: list[Course] = []
    left = kills
    while left:
        for engine, victim, n_blows in _ROUND:
            blows = _blows(dice, victim, min(n_blows, left))
            if blows:
                courses.append(Course(dice.randrange(2**32), engine, blows))
                left -= len(blows)
    return courses


_ROUND = (  # 25 kills; a start of Ray is dear, so that many blows fall in one run
    ("inline", Victim.DRIVER, 4),
    ("inline", Victim.DRIVER, 4),
    ("ray", Victim.WORKER, 7),
    ("ray", Victim.DRIVER, 4),
    ("inline", Victim.SQL, 3),
    ("ray", Victim.RAYLET, 1),
    ("ray", Victim.GCS, 1),
    ("ray", Victim.SQL, 1),
)


def _blows(dice: random.Random, victim: Victim, number: int) -> tuple[Blow, ...]:
    """In the order in which they fall: in the work, well apart; of drivers also at the start and around the commit."""
    at_work = number
    first: list[Blow] = []
    last: list[Blow] = []
    if victim is Victim.DRIVER and number > 1:
        at_work = number - 2
        first = [Blow(victim, Stage.START, dice.random())]
        last = [Blow(victim, dice.choice([Stage.COMMIT, Stage.AFTER]), dice.random())]
    width = 0.9 / max(at_work, 1)
    work = [Blow(victim, Stage.WORK, (n + 0.2 + 0.6 * dice.random()) * width) for n in range(at_work)]
    return (*first, *work, *last)


def run_course(
    course: Course, wanted: Undisturbed, workplace: Path, folder: Path, remote: Remote | None = None
) -> Toll:
    """Carry a course out in a folder that is not there yet, and look at what it left."""
    toll = Toll(course)
    with site(workplace, folder, course.engine, remote) as place:
        _disturb(place, course, toll)
        toll.starts = len(place.attempts)
        if not toll.problems:
            _compare(place, wanted, toll)
    return toll


def _disturb(place: Site, course: Course, toll: Toll) -> None:
    dice = random.Random(course.seed)
    attempt = place.start()
    for blow in course.blows:
        while not _await_moment(place, attempt, blow):
            if attempt.process.returncode == 0:
                toll.problems.append(f"was done before {blow.victim} could be killed ({blow.stage} {blow.share:.2f})")
                return
            attempt = _again(place, attempt, toll)
        if not _strike(place, attempt, blow, dice, toll):
            continue
        if blow.victim is Victim.DRIVER:
            attempt = place.start()
    while attempt.process.wait(PATIENCE_S) != 0 and len(place.attempts) < MAX_STARTS:
        attempt = _again(place, attempt, toll)
    _look_around(place, attempt, toll)


def _again(place: Site, attempt: Attempt, toll: Toll) -> Attempt:
    """The same command after one that ended by itself, not well."""
    code = attempt.process.wait()
    if code not in (2, 130):
        toll.problems.append(f"exit {code}: {attempt.err[-500:]}")
    elif "same command" not in attempt.err and "assay resume" not in attempt.err:
        toll.problems.append(f"no word of how to go on: {attempt.err[-500:]}")
    _check_words(attempt, toll)
    return place.start()


def _check_words(attempt: Attempt, toll: Toll) -> None:
    strange = attempt.strange_lines()
    if strange:
        toll.problems.append(f"not for people: {' | '.join(strange)[:500]}")


def _await_moment(place: Site, attempt: Attempt, blow: Blow) -> bool:
    """Wait for it; False where the command ended before."""
    due = {
        Stage.START: lambda: time.monotonic() - attempt.started >= blow.share * START_S[place.engine],
        Stage.WORK: lambda: place.n_receipts() >= max(1, math.floor(blow.share * PARTS)),
        Stage.COMMIT: lambda: place.n_receipts() >= PARTS,
        Stage.AFTER: place.has_index,
    }[blow.stage]
    pause = 0.002 if blow.stage in (Stage.COMMIT, Stage.AFTER) else 0.01
    assert within(PATIENCE_S, lambda: attempt.is_over or due(), pause), f"neither done nor at {blow}"
    if blow.stage in (Stage.COMMIT, Stage.AFTER):
        time.sleep(blow.share * 0.03)
    return not attempt.is_over


def _strike(place: Site, attempt: Attempt, blow: Blow, dice: random.Random, toll: Toll) -> bool:
    """Kill one of the kind; False where there was none before the command ended."""
    if blow.victim is Victim.DRIVER and blow.stage in (Stage.COMMIT, Stage.AFTER):
        attempt.process.kill()  # at once: a look at all processes would last longer than the commit
        known: list[Process] = []
    else:
        known, victim = _choose(place, attempt, blow, dice)
        if victim is None or not kill(victim):
            return False
    toll.kills.append(blow)
    if blow.victim is Victim.DRIVER:
        attempt.process.wait()
        left = survivors(known, place.temp, GONE_S)
        if left:
            toll.problems.append(f"left after a kill of the driver: {left}")
    return True


def _choose(place: Site, attempt: Attempt, blow: Blow, dice: random.Random) -> tuple[list[Process], Process | None]:
    found: list[Process] = []

    def look() -> bool:
        found[:] = victims(blow.victim, place.temp, attempt.process.pid)
        return bool(found) or attempt.is_over

    within(PATIENCE_S, look)
    return family(place.temp), dice.choice(found) if found else None


def _look_around(place: Site, attempt: Attempt, toll: Toll) -> None:
    if attempt.process.returncode != 0:
        toll.problems.append(f"not done after {len(place.attempts)} starts: {attempt.err[-500:]}")
        return
    _check_words(attempt, toll)
    left = survivors([], place.temp, GONE_S)
    if left:
        toll.problems.append(f"left at the end: {left}")
    if any(Path(place.temp).iterdir()):
        place.sweep()
    # A folder of Ray without a lock was made anew by an orphaned agent, after the sweep.
    folders = sorted(path.name for path in Path(place.temp).iterdir() if not _is_made_by_orphans(path))
    if folders:
        toll.problems.append(f"left in the temporary folder, and not swept by the next start: {folders}")


def _is_made_by_orphans(path: Path) -> bool:
    return path.name.startswith("assay-ray-") and not (path / "lock").exists()


def _compare(place: Site, wanted: Undisturbed, toll: Toll) -> None:
    calls, rows = place.calls(), place.rows()
    toll.lost = sum(1 for row in range(ROWS) if rows[row] == 0) + sum(1 for row in range(ROWS) if calls[row] == 0)
    toll.doubled = sum(max(0, times - 1) for times in rows.values())
    toll.redone = sum(calls.values()) - ROWS
    toll.is_equal = place.result() == wanted
    if toll.lost or toll.doubled or len(rows) != ROWS:
        toll.problems.append(f"{toll.lost} rows lost, {toll.doubled} doubled, {len(rows)} rows in all")
    if not toll.is_equal:
        toll.problems.append("another index than that of the undisturbed run")
    stray = place.stray_files()
    if stray:
        toll.problems.append(f"data that no index names: {stray}")
    if toll.redone > most_redone(toll):
        toll.problems.append(f"{toll.redone} rows done again, at most {most_redone(toll)} were in flight")


def most_redone(toll: Toll) -> int:
    """Rows of the parts that were in work when somebody was killed: of all workers, or of the one that was killed."""
    parts = {Victim.DRIVER: WORKERS, Victim.RAYLET: WORKERS, Victim.GCS: WORKERS, Victim.WORKER: 1, Victim.SQL: 1}
    return PART_ROWS * sum(1 if toll.course.engine == "inline" else parts[blow.victim] for blow in toll.kills)


def run_plan(courses: Sequence[Course]) -> list[Toll]:
    """Carry courses out, one after the other, with a word about each on stderr."""
    tolls: list[Toll] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workplace = make_workplace(folder / "workplace")
        wanted = undisturbed(workplace, folder / "undisturbed")
        for number, course in enumerate(courses):
            begun = time.monotonic()
            toll = run_course(course, wanted, workplace, folder / str(number))
            tolls.append(toll)
            what = f"{course.engine}, {len(toll.kills)} × {course.blows[0].victim}, {toll.starts} starts"
            print(f"{number + 1}/{len(courses)}: {what}, {time.monotonic() - begun:.1f} s", file=sys.stderr)
            for problem in toll.problems:
                print(f"    {problem}", file=sys.stderr)
    return tolls


def table(tolls: Sequence[Toll]) -> str:
    """What became of the courses, as a markdown table: a line for each kind of victim and engine, and the sum."""
    lines = [
        "| killed | engine | kills | recovered | rows lost | doubled | index equal | rows done again a kill, most |",
        "|---|---|---|---|---|---|---|---|",
    ]
    kinds = dict.fromkeys((toll.course.blows[0].victim, toll.course.engine) for toll in tolls)
    for victim, engine in kinds:
        chosen = [t for t in tolls if (t.course.blows[0].victim, t.course.engine) == (victim, engine)]
        lines.append(_line(victim, engine, chosen))
    return "\n".join([*lines, _line("**all**", "", tolls)])


def _line(victim: str, engine: str, tolls: Sequence[Toll]) -> str:
    kills = sum(len(toll.kills) for toll in tolls)
    recovered = sum(len(toll.kills) for toll in tolls if not toll.problems)
    equal = sum(toll.is_equal for toll in tolls)
    redone = max((toll.redone / max(len(toll.kills), 1) for toll in tolls), default=0.0)
    lost, doubled = sum(toll.lost for toll in tolls), sum(toll.doubled for toll in tolls)
    cells = [victim, engine, kills, recovered, lost, doubled, f"{equal} of {len(tolls)} runs", f"{redone:.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def report(kills: int, seed: int) -> tuple[str, bool]:
    """Carry `kills` kills out; the text for the results, and whether all is well."""
    tolls = run_plan(plan(kills, seed))
    head = f"`python tests/faults/kills.py {kills} {seed}`: {ROWS} rows in {PARTS} parts of {PART_ROWS}, SIGKILL.\n\n"
    return head + table(tolls), all(not toll.problems for toll in tolls)


def main(arguments: Sequence[str]) -> int:
    """`kills.py [KILLS] [SEED]`."""
    text, is_well = report(int(arguments[0]) if arguments else 200, int(arguments[1]) if len(arguments) > 1 else 1)
    print(text)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
