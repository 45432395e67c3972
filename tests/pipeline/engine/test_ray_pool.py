from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from part_workers import Run, TraceWork, calls_of

from pipeline.engine import PartFailed, Patience, Resources, RowBlamed, StopSignal, Waiting
from pipeline.errors import EngineError

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]


def test_a_part_whose_worker_is_killed_is_done_by_another(tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, {0: "is killed once"}), 6, engine="ray", workers=2)
    assert sorted(run.execute()) == list(range(6))
    assert calls_of(tmp_path, 0) == 2
    assert [(failed.part, failed.attempt) for failed in run.told(PartFailed)] == [(0, 1)]


def test_a_part_that_was_only_queued_on_a_killed_worker_is_not_blamed(tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, {0: "is killed once"}), 4, engine="ray", workers=1)
    assert sorted(run.execute()) == list(range(4))
    assert {failed.part for failed in run.told(PartFailed)} == {0}
    assert [calls_of(tmp_path, part) for part in range(4)] == [2, 1, 1, 1]


def test_a_row_that_kills_every_worker_is_found_by_halves_and_blamed_and_the_rest_is_done(tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, poison=frozenset({13})), 3, engine="ray", workers=2)
    assert sorted(run.execute()) == [0, 1, 2]
    [blamed] = run.told(RowBlamed)
    assert (blamed.part, blamed.row) == (1, 13)
    assert blamed.message.startswith("Actor")
    kept = {path.name: path.read_text() for path in tmp_path.glob("kept-*")}
    assert kept == {f"kept-{row}": blamed.message if row == 13 else "" for row in range(10, 20)}
    assert {failed.part for failed in run.told(PartFailed)} == {1}


def test_a_part_that_kills_every_worker_though_its_rows_do_not_ends_the_run_by_name(tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, {1: "is always killed"}), 3, engine="ray", workers=2)
    with pytest.raises(EngineError, match=r"part 1 \(rows 10 to 19\) was lost with its worker 3 times though each"):
        run.execute()


def test_a_worker_in_which_nothing_gets_on_is_ended_and_its_part_is_done_again(tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, {1: "hangs once"}), 3, engine="ray", workers=2, patience=Patience(part_s=3.0))
    assert sorted(run.execute()) == [0, 1, 2]
    assert [(failed.part, failed.message) for failed in run.told(PartFailed)] == [
        (1, "no row was finished for 3 s, so the worker was ended (part_timeout)")
    ]


def test_a_part_whose_rows_get_on_has_all_the_time_that_it_needs(tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, {0: "is slow, row by row"}), 1, engine="ray", patience=Patience(part_s=5.0))
    assert sorted(run.execute()) == [0]
    assert not run.told(PartFailed)


def test_workers_that_end_while_they_open_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="ended again and again while it started"):
        Run(TraceWork(tmp_path, opens="never"), 3, engine="ray").execute()


def test_workers_that_can_never_start_end_the_run_which_says_meanwhile_that_it_waits(tmp_path: Path) -> None:
    needs = Resources(runtime_env={"py_executable": "/nowhere/python"})
    run = Run(
        TraceWork(tmp_path), 3, engine="ray", workers=1, resources=needs, patience=Patience(stall_s=1, give_up_s=3)
    )
    with pytest.raises(EngineError, match=r"no worker has lived for 3 s.* runtime_env .* what is done is kept"):
        run.execute()
    assert len(run.told(Waiting)) in (1, 2)


def test_workers_know_their_number_and_share_the_cpus(tmp_path: Path) -> None:
    receipts = Run(TraceWork(tmp_path), 6, engine="ray", workers=2).execute()
    cpus = len(os.sched_getaffinity(0))
    assert {(receipt.sums["workers"], receipt.sums["threads"]) for receipt in receipts.values()} == {
        (2, str(max(1, cpus // 2)))
    }


def test_the_package_comes_first_where_workers_import_from(tmp_path: Path) -> None:
    import pipeline

    receipts = Run(TraceWork(tmp_path), 1, engine="ray").execute()
    assert receipts[0].sums["path"] == [str(Path(pipeline.__file__).parents[1])]


def test_more_cpus_than_exist_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"a worker needs 4096 CPU on one node, the cluster has"):
        Run(TraceWork(tmp_path), 1, engine="ray", resources=Resources(num_cpus=4096)).execute()


def test_a_store_in_memory_is_refused_before_the_first_part(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="memory://x is in the memory of this process"):
        Run(TraceWork(tmp_path, urls=("memory://x",)), 1, engine="ray").execute()
    assert calls_of(tmp_path, 0) == 0


def test_a_folder_that_workers_see_otherwise_is_refused_before_the_first_part(tmp_path: Path) -> None:
    own_to_each_process = "/proc/self"
    with pytest.raises(EngineError, match=r"/proc/self is a folder or file of the machine .* --store s3://"):
        Run(TraceWork(tmp_path, urls=(own_to_each_process,)), 1, engine="ray").execute()
    assert calls_of(tmp_path, 0) == 0


def test_a_run_in_a_thread_leaves_a_ray_that_outlives_it_and_no_trace_in_the_process(tmp_path: Path) -> None:
    environment, on_term = dict(os.environ), signal.getsignal(signal.SIGTERM)
    done: list[int] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: done.extend(Run(TraceWork(tmp_path), 2, engine="ray").execute()))
        thread.start()
        thread.join()
    assert sorted(done) == [0, 0, 1, 1]
    assert (dict(os.environ), signal.getsignal(signal.SIGTERM)) == (environment, on_term)


def test_a_process_at_work_on_one_cluster_joins_no_other(tmp_path: Path) -> None:
    run = Run(TraceWork(tmp_path, {0: "hangs"}), 1, engine="ray", stop=StopSignal(grace_s=0))
    thread = threading.Thread(target=run.execute_until_stopped)
    thread.start()
    while not run.events:
        time.sleep(0.01)
    try:
        with pytest.raises(EngineError, match="this process is at work on local Ray"):
            Run(TraceWork(tmp_path), 1, ray_address="127.0.0.1:1").execute()
    finally:
        run.stop.kill()
        thread.join()


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "localhost:{port}"])
def test_a_dead_address_is_found_within_seconds(address: str, tmp_path: Path) -> None:
    from pipeline.engine.cluster import _join

    with socket.create_server(("127.0.0.1", 0)) as server:
        dead = address.format(port=server.getsockname()[1])
    started = time.monotonic()
    with pytest.raises(EngineError, match=f"no Ray answers at {dead} .* leave out --ray-address"):
        _join(dead)
    assert time.monotonic() - started < 10


def test_an_address_of_another_form_is_refused() -> None:
    from pipeline.engine.cluster import _join

    with pytest.raises(EngineError, match=r"is not the address of a cluster .* use host:port or auto"):
        _join("nowhere")
