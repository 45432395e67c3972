"""Killed at seeded points and given the same command again, a run leaves what an undisturbed one leaves."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from disturbed import PART_ROWS, ROWS, Attempt, Remote, Site, Undisturbed, make_workplace, site, undisturbed
from kills import PARTS, PATIENCE_S, Blow, Course, Stage, Toll, plan, report, run_course
from processes import Victim, catches, within

SEED = 20_261_130


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workplace(tmp_path_factory.mktemp("workplace"))


@pytest.fixture(scope="module")
def wanted(workplace: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(workplace, tmp_path_factory.mktemp("undisturbed") / "site")


@pytest.fixture
def place(workplace: Path, tmp_path: Path) -> Iterator[Site]:
    with site(workplace, tmp_path / "site", "inline") as made:
        yield made


def name_of(course: Course) -> str:
    return f"{len(course.blows)} {course.blows[0].victim} {course.engine}".replace(" ", "-")


@pytest.mark.ray
@pytest.mark.parametrize("course", plan(25, SEED), ids=name_of)
def test_25_kills_lose_no_row_double_none_and_leave_the_same_index(
    course: Course, workplace: Path, wanted: Undisturbed, tmp_path: Path
) -> None:
    toll = run_course(course, wanted, workplace, tmp_path / "site")
    assert toll.problems == []
    assert len(toll.kills) == len(course.blows)


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_200_kills_lose_no_row_double_none_and_leave_the_same_index() -> None:
    text, is_well = report(200, SEED)
    assert is_well, text


def test_the_short_form_is_25_kills_of_every_kind_and_the_long_form_200() -> None:
    assert sum(len(course.blows) for course in plan(25, SEED)) == 25
    assert {blow.victim for course in plan(25, SEED) for blow in course.blows} == set(Victim)
    assert sum(len(course.blows) for course in plan(200, SEED)) == 200
    assert plan(200, SEED) == plan(200, SEED) != plan(200, SEED + 1)


def test_kills_of_the_driver_leave_the_same_index_on_s3(
    workplace: Path, wanted: Undisturbed, tmp_path: Path, seaweed: Any
) -> None:
    environ = {
        "AWS_ENDPOINT_URL": seaweed.endpoint,
        "AWS_ACCESS_KEY_ID": seaweed.options["key"],
        "AWS_SECRET_ACCESS_KEY": seaweed.options["secret"],
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    remote = Remote(f"s3://{seaweed.bucket}/kills", seaweed.options, environ)
    blows = (Blow(Victim.DRIVER, Stage.WORK, 0.2), Blow(Victim.DRIVER, Stage.WORK, 0.6))
    toll = run_course(Course(SEED, "inline", blows), wanted, workplace, tmp_path / "site", remote)
    assert toll.problems == []
    assert len(toll.kills) == 2


def test_a_row_that_is_missing_or_there_twice_would_be_seen(place: Site, workplace: Path, wanted: Undisturbed) -> None:
    from kills import _compare

    assert place.start().process.wait(PATIENCE_S) == 0
    toll = Toll(Course(SEED, "inline", ()))
    _compare(place, wanted, toll)
    assert toll.problems == []
    manifest = next(Path(place.url).glob("runs/*/manifest.json"))
    manifest.write_bytes(manifest.read_bytes().replace(b'"part":1,', b'"part":2,', 1))
    _compare(place, wanted, toll)
    assert toll.problems == ["another index than that of the undisturbed run"]
    with place._calls.open("ab") as calls:
        calls.write(b"000000\n")
    _compare(place, wanted, toll)
    assert toll.problems[-1] == "1 rows done again, at most 0 were in flight"


def finish(place: Site, wanted: Undisturbed, *more: str) -> None:
    """The same command until it is done, and a look at what it leaves."""
    assert place.start(*more).process.wait(PATIENCE_S) == 0, place.attempts[-1].err
    assert place.result() == wanted
    assert place.rows() == dict.fromkeys(range(ROWS), 1)
    assert place.stray_files() == []


def wait_for(is_so: Callable[[], bool], attempt: Attempt) -> None:
    assert within(PATIENCE_S, lambda: is_so() or attempt.is_over, 0.005)


# -- two drivers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_of_two_commands_at_once_one_does_the_work_or_both_and_the_index_is_the_same(
    place: Site, wanted: Undisturbed, seed: int
) -> None:
    first = place.start()
    time.sleep(random.Random(seed).random())
    second = place.start()
    for attempt in (first, second):
        code = attempt.process.wait(PATIENCE_S)
        # The second may meet the run of the first, or have begun one of its own at the same moment.
        assert code == 0 or (code == 1 and "is being driven by process" in attempt.err), attempt.err
        assert attempt.strange_lines() == []
    assert 0 in (first.process.returncode, second.process.returncode)
    indexes = {path.read_bytes() for path in Path(place.url).glob("runs/*/manifest.json")}
    assert indexes == {wanted.index}


@pytest.mark.parametrize("share", [None, 0.5])
def test_a_second_driver_is_refused_or_forced_in_and_the_index_is_the_same_whether_the_first_is_killed_or_not(
    place: Site, wanted: Undisturbed, share: float | None
) -> None:
    first = place.start()
    wait_for(lambda: place.n_receipts() >= 2, first)
    place.hold.touch()
    refused = place.start()
    assert refused.process.wait(PATIENCE_S) == 1
    assert f"is being driven by process {first.process.pid}" in refused.err
    n_calls = place.n_calls()
    second = place.start("--force")
    wait_for(lambda: place.n_calls() > n_calls, second)
    place.hold.unlink()
    if share is not None:
        wait_for(lambda: place.n_receipts() >= share * PARTS, second)
        first.process.kill()
    assert second.process.wait(PATIENCE_S) == 0, second.err
    assert first.process.wait(PATIENCE_S) in (0, -signal.SIGKILL), first.err
    assert first.strange_lines() == second.strange_lines() == []
    assert place.result() == wanted
    assert place.rows() == dict.fromkeys(range(ROWS), 1)
    assert place.stray_files() == []


def test_a_third_command_after_the_commit_does_no_work_and_reports_the_finished_run(
    place: Site, wanted: Undisturbed
) -> None:
    finish(place, wanted)
    assert place.n_calls() == ROWS
    first, third = place.attempts[0], place.start()
    assert third.process.wait(PATIENCE_S) == 0, third.err
    assert "of equal content is finished already" in third.err
    assert third.out == first.out
    assert place.n_calls() == ROWS


# -- Ctrl-C and SIGTERM --------------------------------------------------------------------------------------------

MOMENTS: dict[str, Callable[[Site, Attempt], bool]] = {
    "while it is loaded": lambda place, attempt: catches(attempt.process.pid, signal.SIGTERM),
    "while it reads": lambda place, attempt: Path(place.url, "datasets").exists(),
    "when a run is there": lambda place, attempt: bool(place.runs_with("run.json")),
    "in the first part": lambda place, attempt: place.n_calls() > 3,
    "in the middle": lambda place, attempt: place.n_receipts() >= PARTS // 2,
    "while it commits": lambda place, attempt: place.n_receipts() >= PARTS,
    "after the commit": lambda place, attempt: (
        bool(place.runs_with("outcome.json")) and catches(attempt.process.pid, signal.SIGTERM)
    ),
}


def interrupted(place: Site, attempt: Attempt, moment: str = "") -> None:
    """It ended as one that was interrupted, or was done by then; in words for people."""
    code = attempt.process.wait(PATIENCE_S)
    assert code == 130 or (code == 0 and place.runs_with("outcome.json")), (moment, code, attempt.err)
    assert attempt.strange_lines() == []


def nothing_is_left(place: Site) -> bool:
    """A worker of Ray that was ended at the end of the grace period leaves its folder to the next run."""
    return within(15, lambda: not [path for path in Path(place.temp).iterdir() if "part" in path.name])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_interruptions_at_every_stage_are_told_and_the_same_command_goes_on(
    place: Site, wanted: Undisturbed, number: signal.Signals
) -> None:
    for moment, is_due in MOMENTS.items():
        attempt = place.start()
        wait_for(lambda is_due=is_due, attempt=attempt: is_due(place, attempt), attempt)  # type: ignore[misc]
        attempt.process.send_signal(number)
        interrupted(place, attempt, moment)
        assert nothing_is_left(place)
    finish(place, wanted)
    assert place.n_calls() - ROWS <= PART_ROWS * len(MOMENTS)


def test_a_second_ctrl_c_kills_what_is_in_work_and_the_same_command_goes_on(place: Site, wanted: Undisturbed) -> None:
    attempt = place.start()
    wait_for(lambda: place.n_receipts() >= PARTS // 3, attempt)
    for _ in range(2):
        attempt.process.send_signal(signal.SIGINT)
        wait_for(lambda: "stopping: " in attempt.err, attempt)
    interrupted(place, attempt)
    finish(place, wanted)
    assert place.n_calls() - ROWS <= PART_ROWS


@pytest.mark.ray
def test_interruptions_of_a_run_on_ray_at_three_stages_leave_nobody_behind(
    workplace: Path, wanted: Undisturbed, tmp_path: Path
) -> None:
    with site(workplace, tmp_path / "site", "ray") as place:
        while_ray_starts = lambda: any(Path(place.temp).glob("assay-ray-*"))  # noqa: E731
        for moment in (while_ray_starts, lambda: place.n_calls() > 3, lambda: place.n_receipts() >= PARTS // 2):
            attempt = place.start()
            wait_for(moment, attempt)
            attempt.process.send_signal(signal.SIGINT)
            interrupted(place, attempt)
        finish(place, wanted)
        assert nothing_is_left(place)


def test_what_a_killed_run_shows_is_counted_from_its_receipts(place: Site) -> None:
    attempt = place.start()
    wait_for(lambda: place.n_receipts() >= 5, attempt)
    attempt.process.kill()
    attempt.process.wait()
    command = [sys.executable, "-m", "pipeline.cli", "show", "latest", "--store", place.url]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"failed {place.n_receipts() * PART_ROWS} of {ROWS} rows" in shown
