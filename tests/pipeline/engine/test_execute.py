from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from part_workers import Run, TraceWork, calls_of, parts_of

from pipeline.engine import Event, PartDone, PartFailed, Started, Stopping, StopSignal, execute
from pipeline.errors import EngineError, InterruptedRunError, StoreError, UnavailableError


@pytest.fixture(params=["inline", pytest.param("ray", marks=pytest.mark.ray)])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "ray":
        request.getfixturevalue("local_ray")
    return str(request.param)


def test_every_part_is_run_once_and_has_its_receipt(engine: str, tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path), 7, engine=engine)
    receipts = run.execute()
    assert {part: receipt.part for part, receipt in receipts.items()} == {part: part for part in range(7)}
    assert [calls_of(tmp_path, part) for part in range(7)] == [1] * 7


def test_the_run_tells_its_start_and_every_part_in_the_thread_that_called(engine: str, tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path), 3, engine=engine)
    run.execute()
    [started] = run.told(Started)
    assert run.events[0] is started
    assert (started.parts, started.rows, started.engine) == (3, 30, engine)
    assert sorted(done.receipt.part for done in run.told(PartDone)) == [0, 1, 2]


def test_workers_are_closed_at_the_end(engine: str, tmp_path: Path) -> None:
    receipts = Run(TraceWork(tmp_path), 3, engine=engine).execute()
    closed = {path.name for path in tmp_path.glob("closed-*")}
    assert closed >= {f"closed-{receipt.sums['pid']}" for receipt in receipts.values()}


def test_no_parts_are_done_without_a_start(engine: str, tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path), 0, engine=engine)
    assert (run.execute(), run.events) == ({}, [])


def test_what_a_part_raises_ends_the_run_with_its_type_and_message(engine: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        Run(TraceWork(tmp_path, {1: "raises"}), 2, engine=engine).execute()
    assert str(caught.value) == "part 1 (rows 10 to 19) failed: ValueError: seven is not a colour"
    assert 'raise ValueError("seven is not a colour")' in caught.value.__notes__[0]
    assert calls_of(tmp_path, 1) == 1


def test_an_exception_that_can_be_neither_pickled_nor_shown_is_named(engine: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        Run(TraceWork(tmp_path, {0: "raises what cannot be pickled"}), 1, engine=engine).execute()
    assert str(caught.value) == "part 0 (rows 0 to 9) failed: HeldLock"


def test_a_part_that_exits_does_not_take_the_worker_along(engine: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="failed: SystemExit: gone"):
        Run(TraceWork(tmp_path, {0: "exits"}), 1, engine=engine).execute()


@pytest.mark.parametrize(
    "work, text",
    [
        ({"behaviour": {0: "panics"}}, "part 0 .* failed: Panic: index out of bounds"),
        ({"opens": "in panic"}, "failed: Panic: index out of bounds"),
    ],
)
def test_a_panic_that_is_no_exception_ends_the_run(
    engine: str, tmp_path: Path, work: dict[str, Any], text: str
) -> None:
    with pytest.raises(EngineError, match=text):
        Run(TraceWork(tmp_path, **work), 2, engine=engine).execute()


def test_an_error_of_the_store_keeps_its_class_message_and_key(engine: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Run(TraceWork(tmp_path, {0: "meets a fault of the store"}), 1, engine=engine).execute()
    assert (type(caught.value), str(caught.value), caught.value.key) == (StoreError, "the disk is full", "data/x")


def test_a_passing_fault_is_tried_again(engine: str, tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, {1: "meets a passing fault"}), 3, engine=engine)
    assert sorted(run.execute()) == [0, 1, 2]
    assert [(failed.part, failed.attempt, failed.message) for failed in run.told(PartFailed)] == [
        (1, 1, "RetryError: 503")
    ]


def test_a_fault_that_does_not_pass_ends_the_run_after_three_attempts(engine: str, tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, {0: "never meets the store"}), 1, engine=engine)
    with pytest.raises(UnavailableError) as caught:
        run.execute()
    assert caught.value.key == "data/x"
    assert calls_of(tmp_path, 0) == 3
    assert [failed.attempt for failed in run.told(PartFailed)] == [1, 2, 3]


def test_a_worker_that_cannot_open_ends_the_run_with_its_error(engine: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such bucket") as caught:
        Run(TraceWork(tmp_path, opens="badly"), 3, engine=engine).execute()
    assert caught.value.key == "runs/1"


class StopAfterFirst(Run):
    """Stops when the first part is done."""

    def on_event(self, event: Event) -> None:
        super().on_event(event)
        if isinstance(event, PartDone):
            self.stop.stop()


def test_a_stop_finishes_the_parts_in_work_begins_no_other_and_keeps_what_is_done(engine: str, tmp_path: Path) -> None:
    run = StopAfterFirst(TraceWork(tmp_path, dict.fromkeys(range(12), "takes a while")), 12, engine=engine)
    with pytest.raises(InterruptedRunError, match=r"of 12 parts done and kept; the same command goes on") as caught:
        run.execute()
    done = sorted(event.receipt.part for event in run.told(PartDone))
    assert 1 <= len(done) <= 1 + run.told(Started)[0].workers
    assert sorted(caught.value.receipts) == done


def test_a_stop_abandons_a_part_that_outlasts_the_grace_period(engine: str, tmp_path: Path) -> None:
    work = TraceWork(tmp_path, dict.fromkeys(range(1, 4), "hangs"))
    run = StopAfterFirst(work, 4, engine=engine, stop=StopSignal(grace_s=0.5))
    started = time.monotonic()
    with pytest.raises(InterruptedRunError, match=r"1 of 4 parts done and kept"):
        run.execute()
    assert time.monotonic() - started < 30
    assert len(run.told(Stopping)) <= 1


def test_a_kill_waits_for_nothing(engine: str, tmp_path: Path) -> None:
    stop = StopSignal(grace_s=600)
    stop.kill()
    started = time.monotonic()
    with pytest.raises(InterruptedRunError, match="0 of 3 parts"):
        execute(
            TraceWork(tmp_path, dict.fromkeys(range(3), "hangs")), parts_of(3),
            on_event=lambda event: None, stop=stop, engine=engine,
        )  # fmt: skip
    assert time.monotonic() - started < 10
