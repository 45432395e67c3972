"""One desk for a cluster: it is found by its name, replaced when it dies, and not there where nobody asks."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import pytest
from limited_workers import LimitedWork
from part_workers import Run, TraceWork

from pipeline.engine import PartDone
from pipeline.engine.limit_desk import NAME, NAMESPACE, ClusterDesk, cluster_limits
from pipeline.records.limits import LimitRule, PermitAnswer, PermitRequest
from pipeline.records.permits import AHEAD_S, BATCH_S
from pipeline.records.plan import Receipt

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]

RATE = 40.0
CHANGE_S = AHEAD_S + BATCH_S  # what is in hand when a desk comes or goes is used beside what the next one gives
SLOW = LimitRule("key of a slow endpoint", calls_per_s=0.01)


def began(receipts: dict[int, Receipt]) -> float:
    """When the first worker asked; a clock of the machine, the same in all processes."""
    return min(receipt.sums["began"] for receipt in receipts.values())


def desk() -> ClusterDesk:
    travelled: ClusterDesk = pickle.loads(cluster_limits(is_own=True))
    return travelled


def ask(desk: ClusterDesk, client: str) -> PermitAnswer:
    """Ask until the desk is there."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return desk.ask(PermitRequest(SLOW, client, 1))
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def names() -> list[str]:
    import ray

    return [actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True)]


def kill_the_desk() -> None:
    import ray

    ray.kill(ray.get_actor(NAME, namespace=NAMESPACE))


def wait_until_it_is_gone(desk: ClusterDesk) -> None:
    """A kill takes a moment."""
    deadline = time.monotonic() + 60
    with pytest.raises(Exception, match="died"):
        while time.monotonic() < deadline:
            desk.ask(PermitRequest(SLOW, "a", 0))


def wait_until_there_is_none() -> None:
    deadline = time.monotonic() + 60
    while NAME in names():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_all_who_ask_share_a_limit_and_a_desk_that_died_is_replaced() -> None:
    wait_until_there_is_none()
    first, second = desk(), desk()
    assert [ask(first, "a").permits, ask(second, "b").permits] == [1, 0]
    kill_the_desk()
    wait_until_it_is_gone(first)
    assert [ask(first, "a").permits, ask(second, "b").permits] == [1, 0]


def test_the_workers_of_a_run_keep_to_a_limit_together(tmp_path: Path, limited_server: Any) -> None:
    with limited_server(1000, burst=1000) as endpoint:
        work = LimitedWork(tmp_path, url=endpoint.url, calls_per_s=RATE)
        run = Run(work, 8, engine="ray", workers=2)
        receipts = run.execute()
    assert len({done.worker for done in run.told(PartDone)}) == 2
    assert len(endpoint.came) == 80
    assert endpoint.ahead_s(began(receipts), RATE) <= CHANGE_S + 1 / RATE


def test_a_run_goes_on_when_its_desk_is_killed(tmp_path: Path, limited_server: Any) -> None:
    killed: list[float] = []

    class RunWithoutDesk(Run):
        def on_event(self, event: Any) -> None:
            super().on_event(event)
            if isinstance(event, PartDone) and len(self.told(PartDone)) == 3:
                kill_the_desk()
                killed.append(time.monotonic())

    with limited_server(1000, burst=1000) as endpoint:
        work = LimitedWork(tmp_path, url=endpoint.url, calls_per_s=RATE)
        receipts = RunWithoutDesk(work, 12, engine="ray", workers=2).execute()
    assert len(endpoint.came) == 120
    assert sum(at > killed[0] for at in endpoint.came) > 40
    assert endpoint.ahead_s(began(receipts), RATE) <= 3 * (CHANGE_S + 1 / RATE)


def test_a_run_without_limits_has_no_desk(tmp_path: Path) -> None:
    wait_until_there_is_none()
    seen: list[list[str]] = []

    class WatchedRun(Run):
        def on_event(self, event: Any) -> None:
            seen.append(names())

    WatchedRun(TraceWork(tmp_path), 3, engine="ray").execute()
    assert seen
    assert all(NAME not in found for found in seen)
