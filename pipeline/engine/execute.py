"""One call that carries out the parts of a plan, in this process or on Ray, and returns their receipts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.engine.actor import part_actor
from pipeline.engine.capacity import threads_for, workers_for
from pipeline.engine.choose import check_shareable, choose_engine, landmarks, named_address
from pipeline.engine.cluster import Cluster, connected
from pipeline.engine.events import Event, Started
from pipeline.engine.inline import WORKER, run_inline
from pipeline.engine.ledger import Ledger
from pipeline.engine.ray_pool import GIVE_UP_S, STALL_S, Crew, RayPool
from pipeline.engine.stop import StopSignal
from pipeline.engine.work import Resources, WorkerSpec
from pipeline.errors import InterruptedRunError
from pipeline.records.plan import Part, Receipt

PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])


def execute(
    spec: WorkerSpec,
    parts: Sequence[Part],
    *,
    on_event: Callable[[Event], None],
    stop: StopSignal,
    engine: str = "auto",
    ray_address: str | None = None,
    workers: int | None = None,
    resources: Resources | None = None,
    stall_s: float = STALL_S,
    give_up_s: float = GIVE_UP_S,
) -> dict[int, Receipt]:
    """Carry out `parts`: on resume, those without a receipt.

    Args:
        spec: opens a worker in each worker process.
        parts: in the order in which they are begun; nothing depends on it.
        on_event: called in this thread, which need not be the main one.
        stop: ends the run early, from any thread.
        engine: `auto`, `inline` or `ray`; see `choose_engine`.
        ray_address: of a cluster; None: RAY_ADDRESS, else a local Ray.
        workers: how many at most; None: as many as the cluster's CPUs hold. The inline engine has one.
        resources: of one worker on Ray; None: one CPU.
        stall_s: seconds without a living worker until the run says that it waits, or ends where no node can hold one.
        give_up_s: seconds without a living worker until the run ends, although a node could hold one.

    Returns:
        Part number → the receipt that stands on the store.

    Raises:
        InterruptedRunError: stopped; `receipts` has what is done.
        EngineError: no cluster, not enough resources, or a part that cannot be done.
        AssayError: a part failed with it.
    """
    if not parts:
        return {}
    ledger = Ledger(parts, on_event)
    if choose_engine(engine, len(parts), ray_address) == "inline":
        on_event(Started(len(parts), _rows(parts), "inline", 1, WORKER))
        run_inline(spec, ledger, stop)
        return ledger.receipts
    check_shareable(spec.urls)
    with connected(named_address(ray_address)) as cluster:
        patience = {"stall_s": stall_s, "give_up_s": give_up_s}
        _run_on(cluster, spec, ledger, parts, workers=workers, resources=resources, stop=stop, patience=patience)
    return ledger.receipts


def _run_on(
    cluster: Cluster,
    spec: WorkerSpec,
    ledger: Ledger,
    parts: Sequence[Part],
    *,
    workers: int | None,
    resources: Resources | None,
    stop: StopSignal,
    patience: Mapping[str, float],
) -> None:
    needs = resources or Resources()
    n_workers = workers_for(cluster.nodes, needs, len(parts), workers)
    threads = threads_for(cluster.nodes, needs, n_workers)
    crew = Crew(_actor_class(cluster, needs), _opening(spec, threads, n_workers), n_workers)
    pool = RayPool(crew, resources=needs, stop=stop)
    is_orderly = False
    try:
        pool.run(ledger, Started(len(parts), _rows(parts), "ray", n_workers, cluster.name), **patience)
        is_orderly = True
    except InterruptedRunError:
        is_orderly = not stop.is_over
        raise
    finally:
        pool.end(is_orderly=is_orderly)


def _actor_class(cluster: Cluster, needs: Resources) -> Any:
    import ray

    options: dict[str, Any] = {
        "num_cpus": needs.num_cpus,
        "num_gpus": needs.num_gpus,
        "max_restarts": -1,
        "max_task_retries": 0,  # Ray's own retries run a part twice when a reply is lost
    }
    if needs.memory is not None:
        options["memory"] = needs.memory
    if needs.runtime_env is not None:
        options["runtime_env"] = dict(needs.runtime_env)
    return ray.remote(**options)(part_actor(PACKAGE_ROOT, sys.path if cluster.is_own else ()))


def _opening(spec: WorkerSpec, threads: int, n_workers: int) -> tuple[Any, ...]:
    """The arguments of an actor's `open`; the pickled spec may be large, so it is stored once."""
    import cloudpickle
    import ray

    return ray.put(cloudpickle.dumps(spec)), landmarks(spec.urls), threads, n_workers


def _rows(parts: Sequence[Part]) -> int:
    return sum(part.rows for part in parts)
