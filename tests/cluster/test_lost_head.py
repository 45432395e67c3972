"""A cluster whose control process (GCS) dies in mid-run. Ray would end the driver after 60 s, without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from clusters import ROOT, ClusterHost, result_of, wait_until
from squares import PART_ROWS, ROWS, Work, index_of, n_receipts

pytestmark = pytest.mark.ray

# The command line, but it waits for the GCS for 4 s only.
HURRIED = """
import sys
from pipeline.engine import cluster
cluster.GONE_S = 4.0
from pipeline.cli import main
sys.exit(main())
"""


def lose_the_head(
    start_cluster: Callable[..., ClusterHost], work: Work, store: Path, program: list[str], pace: float
) -> None:
    """Run until the GCS is killed and the run has ended; then the same command, on another cluster."""
    work.begin(pace)
    cluster, arguments = start_cluster({"num_cpus": 2}), work.command(store)
    run = subprocess.Popen(
        [sys.executable, *program, *arguments], cwd=ROOT, env=cluster.environ | {"RAY_ADDRESS": cluster.address},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: n_receipts(store) >= 4, "no parts done", run)
    os.kill(cluster.facts["gcs"], signal.SIGKILL)
    code, out, err = result_of(run)
    assert (code, out) == (2, ""), err
    assert "the cluster's control process (GCS) at " in err
    assert "the same command goes on when there is a cluster again" in err
    assert "go on with: assay resume " in err
    cluster.process.kill()
    begun, done = len(work.callers()), n_receipts(store)
    assert done < ROWS // PART_ROWS

    work.begin(pace=0.0)
    another = start_cluster({"num_cpus": 2})
    code, _, err = result_of(another.assay(*arguments))
    assert code == 0, err
    again = len(work.callers())
    print(f"{begun} rows begun and {done} parts done when the head was lost; {again} rows done after it")
    assert again == ROWS - done * PART_ROWS


def test_a_run_that_loses_the_head_of_its_cluster_ends_with_a_word_and_goes_on_at_another(
    start_cluster: Callable[..., ClusterHost], work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    lose_the_head(start_cluster, work, tmp_path / "store", ["-c", HURRIED], pace=0.1)
    assert index_of(tmp_path / "store") == undisturbed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_ends_before_ray_ends_it(
    start_cluster: Callable[..., ClusterHost], work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    lose_the_head(start_cluster, work, tmp_path / "store", ["-m", "pipeline.cli"], pace=1.0)
    assert index_of(tmp_path / "store") == undisturbed
