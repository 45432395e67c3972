"""Finds the Ray to work on: one the process already uses, a named cluster, or a local one of our own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from pipeline.engine.capacity import Node
from pipeline.engine.gcs import GONE_S, GcsWatch, check_membership, probe
from pipeline.engine.local_ray import LocalRay, quiet_import, quiet_init
from pipeline.errors import EngineError

LOCAL = "local Ray"
_CLIENT = "ray://"


class Cluster(NamedTuple):
    """A Ray that this process is connected to."""

    name: str
    """For messages: `local Ray`, or the address."""
    is_own: bool
    """Started by us: its workers share this machine, this interpreter and this path."""
    nodes: tuple[Node, ...]
    gcs: GcsWatch
    """Tells when the head is lost."""


class _Held:
    """The one connection that this process opened; Ray allows no second."""

    lock = threading.Lock()
    local: LocalRay | None = None
    has_joined = False
    address: str | None = None
    """Of the cluster that was joined."""
    n_runs = 0


@contextmanager
def connected(address: str | None) -> Iterator[Cluster]:
    """Connect for one run. The connection is kept for the next; a local Ray ends with the process.

    Args:
        address: of the cluster (`host:port`, `auto`); None: a local Ray.

    Raises:
        EngineError: nothing answers there, it refuses us, or the process is at work on another cluster.
    """
    with _Held.lock:
        _connect(address)
        _Held.n_runs += 1
    try:
        is_own = _Held.local is not None
        yield Cluster(
            LOCAL if is_own else address or "the Ray of this process", is_own, living_nodes(), _watch_gcs(is_own=is_own)
        )
    finally:
        with _Held.lock:
            _Held.n_runs -= 1


def living_nodes() -> tuple[Node, ...]:
    """The nodes as Ray sees them now."""
    import ray

    return tuple(
        Node(
            host=node["NodeManagerHostname"],
            cpus=node["Resources"].get("CPU", 0.0),
            gpus=node["Resources"].get("GPU", 0.0),
            memory=node["Resources"].get("memory", 0.0),
        )
        for node in ray.nodes()  # type: ignore[no-untyped-call]
        if node["Alive"]
    )


def _connect(address: str | None) -> None:
    quiet_import()
    import ray

    _refuse_client(address)
    is_held = _Held.local is not None or _Held.has_joined
    if _Held.local is not None:
        _wait_for(_Held.local)
    if ray.is_initialized():
        if not is_held:  # the user's own: used as it is, never shut down
            if address is not None:
                _check_same_cluster(address)
            return
        if _Held.address == address:
            return
    if is_held:
        _leave()
    if address is None:
        _Held.local = LocalRay()
        _wait_for(_Held.local)
    else:
        _join(address)
        _Held.has_joined = True
    _Held.address = address


def _wait_for(local: LocalRay) -> None:
    try:
        local.wait_until_up()
    except EngineError:
        _Held.local = None
        raise


def _leave() -> None:
    import ray

    if _Held.n_runs:
        raise EngineError(
            f"this process is at work on {_Held.address or LOCAL}: wait for that run, or use another process"
        )
    if _Held.local is not None:
        _Held.local.stop()
    else:
        ray.shutdown()
    _Held.local, _Held.has_joined, _Held.address = None, False, None


def _join(address: str) -> None:
    target = _resolve(address)
    probe(target, address)
    check_membership(target, address)
    try:
        with ThreadPoolExecutor(1) as other_thread:  # in the main thread Ray would replace the SIGTERM handler
            other_thread.submit(quiet_init, address=target).result()
    except Exception as error:
        raise EngineError(
            f"the cluster at {address} cannot be used: {error}; Ray and Python must be the same version as here, and a "
            "cluster with tokens needs RAY_AUTH_MODE=token and its token in RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
        ) from error


def _resolve(address: str) -> str:
    """`host:port` as Ray will use it: `auto` looked up, localhost replaced by the address of this host."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found: str | None = canonicalize_bootstrap_address(address)
    except ValueError as error:
        raise EngineError(f"{address} is not the address of a cluster ({error}): use host:port or auto") from None
    if found is None:
        raise EngineError("no cluster runs on this machine: start one with `ray start --head`, or give host:port")
    return found


def _refuse_client(address: str | None) -> None:
    """Source: on Ray 2.60 the client takes no `max_task_retries` of a method, without which a restart fails a call."""
    import ray

    if (address or "").startswith(_CLIENT) or ray.util.client.ray.is_connected():  # type: ignore[no-untyped-call]
        raise EngineError(
            f"a run cannot be driven through Ray's client port ({address or _CLIENT}): name the head itself with "
            "--ray-address host:port (6379 by default), or let the cluster drive it: ray job submit -- assay run …"
        )


def _watch_gcs(*, is_own: bool) -> GcsWatch:
    import ray

    return GcsWatch(ray.get_runtime_context().gcs_address, GONE_S, is_own=is_own)


def _check_same_cluster(address: str) -> None:
    import ray

    current = ray.get_runtime_context().gcs_address
    if _resolve(address) != current:
        raise EngineError(
            f"this process is connected to Ray at {current}, not to {address}: call ray.shutdown() first, "
            "or leave out the address"
        )
