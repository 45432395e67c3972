"""How many workers a cluster can hold. Arithmetic over what its nodes have; asks Ray nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.engine.work import Resources
from pipeline.errors import EngineError


class Node(NamedTuple):
    """A living node and what it has in all, used or not."""

    host: str
    cpus: float
    gpus: float
    memory: float
    """Bytes."""


def capacity(nodes: Sequence[Node], resources: Resources) -> int:
    """Workers that fit on the nodes together; one worker never spans two nodes."""
    return sum(fits(node, resources) for node in nodes)


def workers_for(nodes: Sequence[Node], resources: Resources, n_parts: int, asked: int | None) -> int:
    """The number of workers: as asked, else as many as fit; never more than parts.

    Raises:
        EngineError: more is asked for than the cluster has. Ray itself would wait for ever.
    """
    room = capacity(nodes, resources)
    need = _text_of(resources)
    has = f"the cluster has {_total(nodes)} on {len(nodes)} node{'s' * (len(nodes) != 1)}"
    if room == 0:
        raise EngineError(f"a worker needs {need} on one node, {has}: ask for less, or name a larger cluster")
    if asked is not None and asked < 1:
        raise EngineError(f"{asked} workers were asked for: at least 1 is needed")
    if asked is not None and asked > room:
        raise EngineError(f"{asked} workers of {need} were asked for, {has}: ask for at most {room}")
    return min(asked or room, n_parts)


def threads_for(nodes: Sequence[Node], resources: Resources, n_workers: int) -> int:
    """Threads that the libraries of one worker may use, so that all workers together do not exceed the CPUs."""
    share = int(sum(node.cpus for node in nodes) // n_workers)
    largest = int(max(node.cpus for node in nodes))
    return max(1, int(resources.num_cpus), min(share, largest))


def fits(node: Node, resources: Resources) -> int:
    """Where no CPU is asked for, as many as the node has CPUs: more would only take turns."""
    asked = [(node.cpus, resources.num_cpus or 1.0), (node.gpus, resources.num_gpus), (node.memory, resources.memory)]
    return min(math.floor(has / wanted + 1e-9) for has, wanted in asked if wanted)


def _text_of(resources: Resources) -> str:
    words = [f"{resources.num_cpus:g} CPU"]
    if resources.num_gpus:
        words.append(f"{resources.num_gpus:g} GPU")
    if resources.memory:
        words.append(f"{resources.memory / 2**30:.1f} GiB")
    return " and ".join(words)


def _total(nodes: Sequence[Node]) -> str:
    return f"{sum(n.cpus for n in nodes):g} CPU, {sum(n.gpus for n in nodes):g} GPU, " + (
        f"{sum(n.memory for n in nodes) / 2**30:.1f} GiB"
    )
