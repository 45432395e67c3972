"""Which engine carries out a plan, and whether its workers can reach what they are to read and write."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from pipeline.engine.work import ServiceSpec
from pipeline.errors import EngineError

Engine = Literal["auto", "inline", "ray"]

MAX_INLINE_PARTS = 2  # starting Ray takes about 3.5 s; two parts of 65,536 rows take less


def named_address(ray_address: str | None, environ: Mapping[str, str] = os.environ) -> str | None:
    """The cluster that somebody named: the argument, else RAY_ADDRESS. None (also for `local`): a Ray of our own."""
    address = ray_address or environ.get("RAY_ADDRESS") or None
    return None if address == "local" else address


def choose_engine(
    engine: str,
    n_parts: int,
    ray_address: str | None,
    *,
    services: Mapping[str, ServiceSpec] = MappingProxyType({}),
    environ: Mapping[str, str] = os.environ,
) -> Literal["inline", "ray"]:
    """`auto` is inline for up to two parts where no cluster is named, else Ray.

    Where something needs a GPU or a runtime environment, `auto` is Ray: this process can give it neither.

    Raises:
        EngineError: an engine that does not exist, a cluster named for the inline engine, or a runtime environment
            that is asked of it.
    """
    if engine == "inline":
        for name, service in services.items():
            if service.resources.runtime_env:
                raise EngineError(f"{name} asks for a runtime_env, which this process cannot give: use the engine ray")
        if ray_address not in (None, "local"):
            raise EngineError(f"the inline engine cannot use the cluster {ray_address}: leave out one of the two")
        return "inline"
    if engine == "ray":
        return "ray"
    if engine != "auto":
        raise EngineError(f'engine "{engine}" is not known: use auto, inline or ray')
    is_named = named_address(ray_address, environ) is not None or ray_address is not None
    needs_ray = any(spec.resources.runtime_env or spec.resources.num_gpus for spec in services.values())
    return "ray" if is_named or needs_ray or n_parts > MAX_INLINE_PARTS else "inline"


def check_shareable(urls: Sequence[str]) -> None:
    """Refuse places that exist in one process only.

    Raises:
        EngineError: a `memory://` URL or a relative path, which a worker would resolve to something else.
    """
    for url in urls:
        if url.startswith("memory:"):
            raise EngineError(
                f"{url} is in the memory of this process, the workers of Ray cannot see it: "
                "use the inline engine, or a folder or bucket that they can reach"
            )
        path = local_path(url)
        if path is not None and not os.path.isabs(path):
            raise EngineError(f"{url} is relative to the folder of this process: give an absolute path or a URL")


def landmarks(urls: Sequence[str]) -> dict[str, int]:
    """The folders and files of this machine among `urls`, each with its inode, for `unseen` on the workers' side.

    A path proves nothing by existing: every host has a `/data`. An inode also agrees over NFS and Lustre.
    """
    paths = [path for path in map(local_path, urls) if path is not None and os.path.exists(path)]
    return {path: os.stat(path).st_ino for path in paths}


def unseen(marks: Mapping[str, int]) -> list[str]:
    """The landmarks that this process does not see, or sees something else in their place."""
    return [path for path, inode in marks.items() if not os.path.exists(path) or os.stat(path).st_ino != inode]


def local_path(url: str) -> str | None:
    """The path behind a local URL (`file://`, `local://` or none); None for anything else."""
    for prefix in ("file://", "local://"):
        if url.startswith(prefix):
            return url.removeprefix(prefix)
    return None if "://" in url else url
