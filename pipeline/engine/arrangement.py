"""Who gets what of a cluster: the workers of the parts, and the pools with resources of their own. Arithmetic only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.engine.capacity import Node, fits, workers_for
from pipeline.engine.work import Resources
from pipeline.errors import EngineError


class Arrangement(NamedTuple):
    """How many of whom."""

    workers: int
    worker: Resources
    """Of one worker. It asks for no CPU where the pools have them all: it waits for them most of the time."""
    members: Mapping[str, int]
    """Of each pool, by its name."""


def arrange(
    nodes: Sequence[Node], needs: Resources, pools: Mapping[str, Resources], n_parts: int, asked: int | None
) -> Arrangement:
    """Share the cluster out: one member for each pool, a worker, then members while there is room.

    Args:
        nodes: the living nodes.
        needs: of one worker.
        pools: of one member, by the pool's name.
        n_parts: there are never more workers, nor members of a pool, than parts.
        asked: workers at most; None: as many as there is use for.

    Raises:
        EngineError: something asks for more than the cluster has. Ray itself would wait for ever.
    """
    if not pools:
        return Arrangement(workers_for(nodes, needs, n_parts, asked), needs, {})
    free = list(nodes)
    members = dict.fromkeys(pools, 0)
    for name, resources in pools.items():
        if not _place(free, resources):
            workers_for(nodes, resources, 1, None)  # says what is missing, if it does not fit by itself
            raise EngineError(f"{name} finds no room beside {', '.join(n for n in pools if members[n])}: ask for less")
        members[name] = 1
    has_room = _place(free, needs)
    while grown := [name for name in pools if members[name] < n_parts and _place(free, pools[name])]:
        for name in grown:
            members[name] += 1
    wanted = min(asked or sum(members.values()), n_parts)
    worker = needs
    if not has_room or wanted > 1 + sum(fits(node, needs) for node in free):
        worker = needs._replace(num_cpus=0.0)
    return Arrangement(max(1, wanted), worker, members)


def _place(free: list[Node], needs: Resources) -> bool:
    """Take what one actor needs from the first node that has it."""
    for position, node in enumerate(free):
        if fits(node, needs):
            free[position] = node._replace(
                cpus=node.cpus - needs.num_cpus,
                gpus=node.gpus - needs.num_gpus,
                memory=node.memory - (needs.memory or 0),
            )
            return True
    return False
