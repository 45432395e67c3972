from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from part_workers import Run
from pool_workers import AskingWork, Doubling

from pipeline.engine import PartFailed, Patience, Resources
from pipeline.errors import EngineError


def asking(folder: Path, how: Mapping[int, str] | None = None, resources: Resources | None = None) -> AskingWork:
    return AskingWork({"doubling": Doubling(folder, how or {}, resources or Resources())})


pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]


def test_a_pool_serves_the_workers_of_the_parts_from_processes_of_its_own(tmp_path: Path) -> None:
    receipts = Run(asking(tmp_path), 6, engine="ray").execute()
    assert {part: receipt.sums["twice"] for part, receipt in receipts.items()} == {part: 2 * part for part in range(6)}
    members = {receipt.sums["pid"] for receipt in receipts.values()}
    workers = {receipt.sums["worker"] for receipt in receipts.values()}
    assert not members & workers
    assert {path.name for path in tmp_path.glob("opened-*")} >= {f"opened-{pid}" for pid in members}


def test_in_this_process_there_are_no_pools_and_the_worker_does_it_itself(tmp_path: Path) -> None:
    receipts = Run(asking(tmp_path), 2, engine="inline").execute()
    assert all("twice" not in receipt.sums for receipt in receipts.values())


def test_a_part_whose_member_died_is_done_again_by_a_new_member(tmp_path: Path) -> None:
    run = Run(asking(tmp_path, {1: "dies once"}), 3, engine="ray")
    assert [run.execute()[part].sums["twice"] for part in range(3)] == [0, 2, 4]
    [failed] = run.told(PartFailed)
    assert (failed.part, failed.message) == (1, "LostServiceError: doubling was lost: ActorUnavailableError")


def test_a_member_that_gives_no_answer_is_ended_and_the_part_is_done_again(tmp_path: Path) -> None:
    run = Run(asking(tmp_path, {1: "hangs once"}), 3, engine="ray", patience=Patience(part_s=10.0))
    assert sorted(run.execute()) == [0, 1, 2]
    assert [failed.message for failed in run.told(PartFailed)] == [
        "LostServiceError: doubling gave no answer within 8 s"
    ]


def test_what_a_member_raises_ends_the_run_with_its_message(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="doubling failed: ValueError: no such number"):
        Run(asking(tmp_path, {0: "raises"}), 1, engine="ray").execute()


def test_a_pool_that_fits_on_no_node_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"a worker needs 1 CPU and 8 GPU on one node, the cluster has"):
        Run(asking(tmp_path, resources=Resources(num_gpus=8)), 1, engine="ray").execute()
