"""The class that Ray starts on a node. It travels by value, and puts our package first before it imports anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

THREAD_VARIABLES = (  # read by the libraries when they are imported
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "ARROW_IO_THREADS",
)


OPEN_RETRIES = 2  # a worker that dies three times while it opens will not live


def engine_actor(root: str, driver_paths: Sequence[str], thread_variables: Sequence[str] = THREAD_VARIABLES) -> type:
    """The actor's class, made anew so that it is pickled by value.

    By reference, a worker would import `pipeline` to find it, with the user's working directory first in its path (Ray
    puts it there): a `scorers.py` of the user's would be found in place of ours. A class made inside a function
    travels whole, so its own first lines run before any import of the project.

    Args:
        root: the folder that holds `pipeline` and `scorers` on the driver; used where it exists on the node too.
        driver_paths: the driver's `sys.path` where the worker runs on the same machine, else empty.
        thread_variables: set to the number of threads that a worker may use.
    """

    import ray

    class EngineActor:
        def __init__(self) -> None:
            self._host: Any = None

        # The one call that may be repeated: without this, it fails while Ray restarts the actor.
        @ray.method(max_task_retries=OPEN_RETRIES)
        def open(self, spec: bytes, setting: dict[str, Any], pulse_key: bytes | None) -> Any:
            """None: ready. Text: the package cannot be used on this node. Else a `Failure`.

            `setting` holds the fields of `host.Setting` as plain values: nothing of ours may be unpickled before the
            path is right.
            """
            if self._host is not None:
                return self._host.open()
            import importlib.util
            import os
            import socket
            import sys

            for name in thread_variables:
                os.environ[name] = str(setting["threads"])
            sys.path[:] = [*driver_paths, *(path for path in sys.path if path not in driver_paths)]
            home = root
            if not os.path.exists(os.path.join(root, "pipeline", "__init__.py")):
                found = importlib.util.find_spec("pipeline")
                home = os.path.dirname(os.path.dirname(found.origin)) if found and found.origin else root
            sys.path[:] = [home, *(path for path in sys.path if path != home)]
            try:
                from pipeline.engine.host import ActorHost, Setting
            except ImportError as error:
                return f"the workers on {socket.gethostname()} cannot import assay ({error}): install it there"
            self._host = ActorHost(spec, Setting(**setting), pulse_key)
            return self._host.open()

        def carry_out(self, assignment: bytes) -> Any:
            """An `Outcome`. None: the process is new and was not opened, so nothing was begun."""
            return None if self._host is None else self._host.carry_out(assignment)

        def serve(self, request: Any) -> Any:
            """An `Answer`. None: the process is new and was not opened."""
            return None if self._host is None else self._host.serve(request)

        def close(self) -> None:
            if self._host is not None:
                self._host.close()

    return EngineActor
