"""The way to the one desk of a cluster that hands out permits. It travels to the workers, who start the desk."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.engine.limit_actor import limit_actor
from pipeline.errors import EngineError
from pipeline.records.limits import PermitAnswer, PermitRequest

PACKAGE_ROOT = str(Path(__file__).resolve().parents[2])
NAMESPACE = "assay"
NAME = "limits-1"  # a number more when what is asked or answered changes: runs of two versions do not understand
ANSWER_S = 1.0  # a desk that takes longer is not there; it answers in milliseconds
START_S = 60.0  # for a process on a busy node, whose environment may have to be built
LOOK_APART_S = (
    0.5,
    30.0,
)  # between two searches, first and at most: a desk that cannot start is not tried all the time


def cluster_limits(*, is_own: bool) -> bytes:
    """`Place.limits` of the workers of a run, pickled. Starts nothing: the first worker that asks starts the desk.

    The desk is one actor of the cluster, found by its name, so that all runs on the cluster share it. It ends with the
    worker that made it; the next question makes another.

    Args:
        is_own: the cluster is this machine, started by this process: workers use its `sys.path`.
    """
    import pickle

    return pickle.dumps(ClusterDesk(PACKAGE_ROOT, tuple(sys.path) if is_own else ()))


class ClusterDesk:
    """A `LimitDesk` on Ray. `ask` fails at once while the desk is looked for, in a thread beside."""

    def __init__(self, root: str, driver_paths: Sequence[str], name: str = NAME) -> None:
        self._made_of = (root, driver_paths, name)
        self._lock = threading.Lock()
        self._actor: Any = None
        self._held: Any = None
        """The last one that was found: Ray ends an actor whose maker lets go of it."""
        self._is_looking = False
        self._look_at = 0.0
        self._look_apart_s = LOOK_APART_S[0]

    def __reduce__(self) -> tuple[type[ClusterDesk], tuple[Any, ...]]:
        return ClusterDesk, self._made_of

    def ask(self, request: PermitRequest) -> PermitAnswer:
        """See `LimitDesk`.

        Raises:
            EngineError: the desk is not there; it is looked for.
            RayError: it went away, or does not answer in time.
        """
        import ray

        actor = self._actor
        if actor is None:
            self._look()
            raise EngineError("the desk of the rate limits is being started; until then each worker has its share")
        try:
            answer: PermitAnswer = ray.get(actor.ask.remote(request), timeout=ANSWER_S)
        except Exception:
            self._actor = None
            self._look()
            raise
        return answer

    def _look(self) -> None:
        with self._lock:
            if self._is_looking or time.monotonic() < self._look_at:
                return
            self._is_looking = True
            threading.Thread(target=self._find, daemon=True, name="assay-limit-desk").start()

    def _find(self) -> None:
        import ray

        root, driver_paths, name = self._made_of
        options: dict[str, Any] = {
            "num_cpus": 0,
            "max_restarts": 0,
            "name": name,
            "namespace": NAMESPACE,
            "get_if_exists": True,
        }
        try:
            actor: Any = ray.remote(**options)(limit_actor(root, driver_paths)).remote()
            ray.get(actor.is_up.remote(), timeout=START_S)
            self._actor = self._held = actor
            self._look_apart_s = LOOK_APART_S[0]
        except Exception:  # noqa: BLE001 - it cannot be had now: the shares keep the limit, and a later question looks again
            self._look_at = time.monotonic() + self._look_apart_s
            self._look_apart_s = min(2 * self._look_apart_s, LOOK_APART_S[1])
        finally:
            self._is_looking = False
