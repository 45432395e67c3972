"""`ray job submit … -- assay run …`: the driver runs on the cluster, in a copy of the working folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from clusters import PATIENCE_S, ROOT, ClusterHost, free_port
from squares import Work, index_of

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., ClusterHost]) -> ClusterHost:
    """A head with the dashboard, which takes the jobs; like everything, it asks for the token."""
    # Other Rays of the machine may have the usual ports.
    ports = {"dashboard_port": free_port(), "dashboard_agent_listen_port": free_port()}
    return start_cluster({"num_cpus": 2, "include_dashboard": True, **ports})


def submit(cluster: ClusterHost, folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Submit, and wait for the end; asked again while the agent that starts jobs is not up yet, as Ray advises."""
    ray = [sys.executable, "-m", "ray.scripts.scripts", "job", "submit", "--address", cluster.facts["dashboard"]]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done = subprocess.run(
            [*ray, "--working-dir", str(folder), "--", *command], env=cluster.environ | variables, cwd="/",
            capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        if "No available agent to submit job" not in done.stderr or time.monotonic() > deadline:
            return done
        time.sleep(1.0)


def assay(*arguments: str) -> list[str]:
    """The command line of this tree, whatever the shell of the job finds first."""
    return ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "pipeline.cli", *arguments]


def test_a_submitted_run_prints_its_result_and_leaves_the_same_index(
    cluster: ClusterHost, work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    work.begin(pace=0.0)
    arguments = [os.path.basename(word) if word.endswith("run.yaml") else word for word in work.command(tmp_path / "s")]
    done = submit(cluster, work.folder, *assay(*arguments, "--engine", "ray"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "right   400" in done.stdout
    assert "next    assay results" in done.stdout
    assert index_of(tmp_path / "s") == undisturbed


def test_the_status_and_the_message_of_a_submitted_run_come_through(
    cluster: ClusterHost, work: Work, tmp_path: Path
) -> None:
    arguments = [os.path.basename(word) if word.endswith("run.yaml") else word for word in work.command(tmp_path / "s")]
    done = submit(cluster, work.folder, *assay(*arguments, "--workers", "3"))
    assert done.returncode != 0
    assert "3 workers of 1 CPU were asked for, the cluster has 2 CPU" in done.stdout
    assert "exit code 2" in done.stdout + done.stderr


def test_a_job_without_the_token_is_refused(cluster: ClusterHost, work: Work) -> None:
    done = submit(cluster, work.folder, "true", RAY_AUTH_MODE="disabled")
    assert done.returncode != 0
    assert "Unauthorized" in done.stdout + done.stderr
