"""Makes the actors of a run: the crew that works on its parts, and the pools that serve the crew."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.engine.actor import engine_actor
from pipeline.engine.arrangement import Arrangement
from pipeline.engine.capacity import threads_for
from pipeline.engine.choose import landmarks
from pipeline.engine.cluster import Cluster
from pipeline.engine.seat import Crew
from pipeline.engine.services import Members, raise_problem
from pipeline.engine.stop import StopSignal
from pipeline.engine.work import Resources, ServiceSpec, WorkerSpec
from pipeline.errors import EngineError

PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
SHARE_OF_PART = 0.8  # of the time that a part has: the member is ended for it, and not the worker that waits
POLL_S = 0.1  # how soon a stop is seen while pools are opened: a model takes minutes to load

GUARD_SHARES = 1.5  # of a worker's share of the memory limit: its steps keep within one, a runaway does not stop there


def make_crew(
    cluster: Cluster,
    spec: WorkerSpec,
    arrangement: Arrangement,
    pools: Mapping[str, Members],
    limits: bytes | None,
    memory_limit: int | None = None,
) -> Crew:
    """The crew of a run. The pickled spec may be large, so it is stored once."""
    import cloudpickle
    import ray

    setting = {
        "marks": landmarks(spec.urls),
        "threads": threads_for(cluster.nodes, arrangement.worker, arrangement.workers),
        "workers": arrangement.workers,
        "services": {name: tuple(members) for name, members in pools.items()},
        "limits": limits,
        "most_memory": None if memory_limit is None else int(GUARD_SHARES * memory_limit / arrangement.workers),
    }
    actor_class = _actor_class(cluster, arrangement.worker, spec.parts_at_once)
    opening = (ray.put(cloudpickle.dumps(spec)), setting)
    return Crew(actor_class, opening, arrangement.workers, spec.parts_at_once, uuid.uuid4().hex)


@contextmanager
def open_pools(
    cluster: Cluster,
    specs: Mapping[str, ServiceSpec],
    arrangement: Arrangement,
    limits: bytes | None,
    *,
    timeout_s: float,
    stop: StopSignal,
) -> Iterator[dict[str, Members]]:
    """Start and open the pools of a run, and end them after it.

    Raises:
        EngineError: a member cannot be opened.
        AssayError: what a member failed with while it opened.
    """
    import ray

    pools: dict[str, Members] = {}
    try:
        for name, spec in specs.items():
            pools[name] = _start_pool(cluster, spec, arrangement.members[name], timeout_s, limits)
        openings = {actor.open.remote(*pool.opening): name for name, pool in pools.items() for actor in pool.actors}
        _wait_for(openings, stop)
        yield pools
    finally:
        for pool in pools.values():
            for actor in pool.actors:
                if ray.is_initialized():
                    ray.kill(actor)


def _start_pool(cluster: Cluster, spec: ServiceSpec, n_members: int, timeout_s: float, limits: bytes | None) -> Members:
    import cloudpickle

    setting = {
        "marks": {},
        "threads": max(1, int(spec.resources.num_cpus)),
        "workers": n_members,
        "services": {},
        "limits": limits,
    }
    actor_class = _actor_class(cluster, spec.resources, 1)
    opening = (cloudpickle.dumps(spec), setting, None)
    return Members([actor_class.remote() for _ in range(n_members)], opening, SHARE_OF_PART * timeout_s)


def _wait_for(openings: Mapping[Any, str], stop: StopSignal) -> None:
    import ray

    waiting = list(openings)
    while waiting and not stop.is_stopped:
        ready, waiting = ray.wait(waiting, num_returns=1, timeout=POLL_S)
        for ref in ready:
            try:
                problem = ray.get(ref)
            except ray.exceptions.RayError as error:
                raise EngineError(f"{openings[ref]} ended again and again while it started: {error}") from None
            raise_problem(problem, openings[ref])


def _actor_class(cluster: Cluster, needs: Resources, at_once: int) -> Any:
    import ray

    options: dict[str, Any] = {
        "num_cpus": needs.num_cpus,
        "num_gpus": needs.num_gpus,
        "max_restarts": -1,
        "max_task_retries": 0,  # Ray's own retries run a part twice when a reply is lost
    }
    if at_once > 1:  # in threads; else in the main one, where a call can be interrupted by an alarm
        options["max_concurrency"] = at_once
    if needs.memory is not None:
        options["memory"] = needs.memory
    if needs.runtime_env is not None:
        options["runtime_env"] = dict(needs.runtime_env)
    return ray.remote(**options)(engine_actor(PACKAGE_ROOT, sys.path if cluster.is_own else ()))
