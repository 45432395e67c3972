"""A cluster of three nodes that loses one in mid-run, and gets another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from clusters import ClusterHost, result_of, wait_until
from squares import PART_ROWS, PARTS, ROWS, Work, index_of, n_receipts

pytestmark = pytest.mark.ray

IN_FLIGHT = 1  # parts that one lost worker had in work; the one queued behind it was not begun


def test_a_run_that_loses_a_node_and_gets_another_uses_it_and_leaves_the_same_index(
    start_cluster: Callable[..., ClusterHost], work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    cluster = start_cluster({"num_cpus": 0}, 1, 1)
    lost, kept = cluster.facts["nodes"]
    work.begin(pace=0.03)
    run = cluster.assay(*work.command(tmp_path / "store"))
    wait_until(
        lambda: n_receipts(tmp_path / "store") >= 6 and {lost, kept} <= work.nodes_at_work(), "no parts done", run
    )
    cluster.order("remove")
    done_before = n_receipts(tmp_path / "store")
    new = cluster.order("add", 1)["added"]
    code, _, err = result_of(run)
    assert code == 0, err
    assert index_of(tmp_path / "store") == undisturbed
    callers = work.callers()
    again = sum(len(nodes) - 1 for nodes in callers.values())
    by_node = {name: sum(node in nodes for nodes in callers.values()) for name, node in
               (("lost", lost), ("kept", kept), ("new", new))}  # fmt: skip
    print(f"{PARTS} parts, {done_before} done when the node was lost; rows by node {by_node}; {again} rows done again")
    assert sorted(callers) == list(range(ROWS))
    assert again <= IN_FLIGHT * PART_ROWS
    assert by_node["new"] > 0, "a node that joins in mid-run takes the place of the lost one"
