"""Programs that the tests start as processes of their own: `python jobs.py NAME FOLDER [ENGINE]`."""

from __future__ import annotations

import hashlib
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from part_workers import Run, TraceWork, parts_of

from pipeline.engine import Patience, Place, ServiceSpec, StopSignal, execute
from pipeline.errors import EngineError
from pipeline.records.plan import DataFile, Part, Plan, Receipt
from pipeline.store import Store
from pipeline.store.commit import begin, finish, publish


def score(folder: Path) -> int:
    """A few parts; the worker of one is killed on the way."""
    return 0 if len(Run(TraceWork(folder, {0: "is killed once"}), 5, engine="ray").execute()) == 5 else 1


def wait_for_ctrl_c(folder: Path) -> int:
    """As the command line does it: the run in a thread, Ctrl-C in the main one, and SIGTERM is the same.

    It waits for an event and not for the thread: Python 3.11 takes a thread for ended whose `join` was interrupted.
    """
    run, ended = (
        Run(TraceWork(folder, dict.fromkeys(range(200), "takes a while")), 200, engine="ray"),
        threading.Event(),
    )

    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def drive() -> None:
        run.execute_until_stopped()
        ended.set()

    threading.Thread(target=drive).start()
    try:
        ended.wait()
    except KeyboardInterrupt:
        run.stop.stop()
        ended.wait()
        (folder / "events").write_text("\n".join(type(event).__name__ for event in run.events))
        return 130
    return 0


@dataclass(frozen=True)
class CommitWork:
    """Leaves one small file a part in a store, by the commit protocol."""

    store: Store
    folder: Path
    plan_sha256: str

    @property
    def urls(self) -> tuple[str, ...]:
        return (self.store.url,)

    @property
    def parts_at_once(self) -> int:
        return 1

    services: Mapping[str, ServiceSpec] = field(default_factory=dict)

    def open(self, place: Place) -> CommitWork:
        return self

    def run_part(self, part: Part, attempt: int = 1) -> Receipt:
        with open(self.folder / f"calls-{part.index}", "a") as calls:
            calls.write("x")
        time.sleep(0.1)
        data = f"rows {part.first_row} to {part.first_row + part.rows - 1}".encode()
        digest = hashlib.sha256(data).hexdigest()
        file = DataFile(path=f"data/{digest}.parquet", sha256=digest, bytes=len(data), rows=part.rows)
        receipt = Receipt(
            plan_sha256=self.plan_sha256, part=part.index, rows=part.rows, first_row=part.first_row, files=(file,)
        )
        return publish(self.store, "", receipt, {file.path: data})

    def keep_rows(self, part: Part, first_row: int, rows: int, lost: str | None = None) -> None:
        pass

    def rows_finished(self) -> int:
        return 0

    def rows_in_work(self) -> int:
        return 0

    def close(self) -> None:
        pass


def commit(folder: Path) -> int:
    """Forty parts, then the index; begun again, it does what is missing."""
    store = Store(folder / "store")
    plan = Plan(kind="test", pins={}, parts=tuple(parts_of(40)))
    begun = begin(store, "", plan)
    missing = [part for part in plan.parts if part.index not in begun.receipts]
    work = CommitWork(store, folder, plan.sha256)
    done = execute(work, missing, engine="ray", on_event=lambda event: None, stop=StopSignal())
    finish(store, "", plan, begun.receipts | done)
    return 0


def lose_the_node(folder: Path) -> int:
    """A named cluster of one node without CPUs and one with: a run on it, then one during which the second dies."""
    import ray
    from ray.cluster_utils import Cluster

    checks = {"initial_delay_ms": 1000, "period_ms": 500, "failure_threshold": 4, "timeout_ms": 1000}
    config = {f"health_check_{name}": value for name, value in checks.items()}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": config})
    where = {"ray_address": cluster.address, "patience": Patience(stall_s=5.0)}
    try:  # connected while there is only the first node, the driver belongs to that one
        Run(TraceWork(folder), 2, **where).execute()
    except EngineError as error:
        print(error)
    node = cluster.add_node(num_cpus=1)
    done = Run(TraceWork(folder, urls=(str(folder),)), 2, **where).execute()
    print(sorted(done))

    def when_begun() -> None:
        while not list(folder.glob("part-3-*")):
            time.sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)

    threading.Thread(target=when_begun).start()
    try:
        Run(TraceWork(folder, {3: "hangs"}), 4, **where).execute()
    except EngineError as error:
        print(error)
    ray.shutdown()
    cluster.shutdown()
    return 0


JOBS = {"score": score, "wait_for_ctrl_c": wait_for_ctrl_c, "commit": commit, "lose_the_node": lose_the_node}

if __name__ == "__main__":
    sys.exit(JOBS[sys.argv[1]](Path(sys.argv[2])))
