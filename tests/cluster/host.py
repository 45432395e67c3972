"""Holds a cluster of several nodes on this machine: `python host.py '{"num_cpus": 0}' 1 1`, then orders on stdin.

Orders: `add CPUS`, `remove` (the node added first, as a crash does it), `claim RAY PYTHON` (the head says that it is of
these versions), `end`. Each is answered with a line of JSON. A process of its own, since a process has one Ray only.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ray.cluster_utils import Cluster

# A lost node is noticed after 5 s, not 14; a busy one is not taken for lost.
CHECKS = {"initial_delay_ms": 1000, "period_ms": 1000, "failure_threshold": 5, "timeout_ms": 1000}


def main(head: str, *cpus: str) -> None:
    config = {f"health_check_{name}": value for name, value in CHECKS.items()}
    cluster = Cluster(initialize_head=True, head_node_args={"_system_config": config, **json.loads(head)})
    nodes = [cluster.add_node(num_cpus=int(number)) for number in cpus]
    say(
        address=cluster.address,
        nodes=[raylet_of(node) for node in nodes],
        gcs=process_of(cluster.head_node, "gcs_server"),
        raylet_port=cluster.head_node.node_manager_port,
        dashboard=f"http://{cluster.head_node.webui_url}",
    )
    for order in sys.stdin:
        match order.split():
            case ["add", number]:
                nodes.append(cluster.add_node(num_cpus=int(number)))
                say(added=raylet_of(nodes[-1]))
            case ["remove"]:
                node = nodes.pop(0)
                cluster.remove_node(node, allow_graceful=False)
                say(removed=True)
            case ["claim", ray_version, python_version]:
                claim(cluster.head_node, ray_version, python_version)
                say(claimed=ray_version)
            case _:
                break
    cluster.shutdown()


def claim(head: Any, ray_version: str, python_version: str) -> None:
    """Put other versions where the head keeps its own."""
    client = head.get_gcs_client()
    said = json.loads(client.internal_kv_get(b"CLUSTER_METADATA", namespace=b"cluster"))
    said |= {"ray_version": ray_version, "python_version": python_version}
    client.internal_kv_put(b"CLUSTER_METADATA", json.dumps(said).encode(), True, namespace=b"cluster")


def raylet_of(node: Any) -> int:
    """The parent of all workers of the node: how a task tells where it runs."""
    return process_of(node, "raylet")


def process_of(node: Any, kind: str) -> int:
    return int(node.all_processes[kind][0].process.pid)


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
