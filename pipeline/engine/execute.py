"""One call that carries out the parts of a plan, in this process or on Ray, and returns their receipts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.engine.actors import make_crew, open_pools
from pipeline.engine.arrangement import arrange
from pipeline.engine.choose import check_shareable, choose_engine, named_address
from pipeline.engine.cluster import Cluster, connected
from pipeline.engine.events import Event, Started
from pipeline.engine.inline import WORKER, run_inline
from pipeline.engine.ledger import Ledger
from pipeline.engine.limit_desk import cluster_limits
from pipeline.engine.ray_pool import PATIENCE, Patience, RayPool
from pipeline.engine.stop import StopSignal
from pipeline.engine.work import Resources, WorkerSpec
from pipeline.errors import InterruptedRunError
from pipeline.records.plan import Part, Receipt


def execute(
    spec: WorkerSpec,
    parts: Sequence[Part],
    *,
    on_event: Callable[[Event], None],
    stop: StopSignal,
    engine: str = "auto",
    ray_address: str | None = None,
    workers: int | None = None,
    at_most: int | None = None,
    memory_limit: int | None = None,
    resources: Resources | None = None,
    patience: Patience = PATIENCE,
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
        at_most: workers at most, although the cluster may hold more; None: no bound.
        memory_limit: bytes of all workers together: one on Ray that holds half as much again as its share is ended.
        resources: of one worker on Ray; None: one CPU.
        patience: how long is waited for the next finished row of a part, and for workers.

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
    if choose_engine(engine, len(parts), ray_address, services=spec.services) == "inline":
        on_event(Started(len(parts), _rows(parts), "inline", 1, WORKER))
        run_inline(spec, ledger, stop, patience.part_s)
        return ledger.receipts
    check_shareable(spec.urls)
    with connected(named_address(ray_address)) as cluster:
        needs = resources or Resources()
        used = min(len(parts), at_most or len(parts))
        _run_on(
            cluster,
            spec,
            ledger,
            parts,
            used=used,
            workers=workers,
            memory_limit=memory_limit,
            resources=needs,
            stop=stop,
            patience=patience,
        )
    return ledger.receipts


def _run_on(
    cluster: Cluster,
    spec: WorkerSpec,
    ledger: Ledger,
    parts: Sequence[Part],
    *,
    used: int,
    workers: int | None,
    memory_limit: int | None,
    resources: Resources,
    stop: StopSignal,
    patience: Patience,
) -> None:
    pools = {name: service.resources for name, service in spec.services.items()}
    arrangement = arrange(cluster.nodes, resources, pools, used, workers)
    limits = cluster_limits(is_own=cluster.is_own)
    with open_pools(cluster, spec.services, arrangement, limits, timeout_s=patience.part_s, stop=stop) as members:
        crew = make_crew(cluster, spec, arrangement, members, limits, memory_limit)
        pool = RayPool(crew, resources=arrangement.worker, stop=stop, patience=patience, gcs=cluster.gcs)
        is_orderly = False
        try:
            pool.run(ledger, Started(len(parts), _rows(parts), "ray", crew.size, cluster.name))
            is_orderly = True
        except InterruptedRunError:
            is_orderly = not stop.is_over
            raise
        finally:
            pool.end(is_orderly=is_orderly)


def _rows(parts: Sequence[Part]) -> int:
    return sum(part.rows for part in parts)
