"""The class of the one actor of a cluster that hands out permits. It travels by value, like that of the workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def limit_actor(root: str, driver_paths: Sequence[str]) -> type:
    """The actor's class, made anew so that it is pickled by value; see `engine_actor` for the reason.

    Args:
        root: the folder that holds `pipeline` on the driver; used where it exists on the actor's node too.
        driver_paths: the driver's `sys.path` where the cluster is this machine, else empty.
    """

    class LimitActor:
        def __init__(self) -> None:
            import importlib.util
            import os
            import sys
            import time

            sys.path[:] = [*driver_paths, *(path for path in sys.path if path not in driver_paths)]
            home = root
            if not os.path.exists(os.path.join(root, "pipeline", "__init__.py")):
                found = importlib.util.find_spec("pipeline")
                home = os.path.dirname(os.path.dirname(found.origin)) if found and found.origin else root
            sys.path[:] = [home, *(path for path in sys.path if path != home)]
            from pipeline.records.permits import PermitDesk

            self._desk = PermitDesk(time.monotonic)

        def ask(self, request: Any) -> Any:
            """A `PermitRequest` → a `PermitAnswer`."""
            return self._desk.ask(request)

        def is_up(self) -> bool:
            """Answers, once it is made."""
            return True

    return LimitActor
