"""Clusters as processes of their own, each in a folder and with a token of its own.

`ray stop` is never used: it ends every cluster of the machine.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from clusters import HOST, ClusterHost, end, environ_without_ray, result_of, start_assay
from squares import Work, index_of


@pytest.fixture(scope="session")
def ray_environ() -> Iterator[dict[str, str]]:
    """Of a cluster and its users: a token in a file of its own, and a short folder, below which sockets lie."""
    temp = tempfile.mkdtemp(prefix="c", dir="/tmp")
    Path(temp, "ray").mkdir()
    token = Path(temp, "token")
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    own = {"RAY_TMPDIR": temp, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "HOME": temp}
    patient = {"RAY_gcs_server_port_wait_time_s": "120"}
    yield environ_without_ray() | own | patient | {"RAY_USAGE_STATS_ENABLED": "0"}
    shutil.rmtree(temp, ignore_errors=True)


@pytest.fixture(scope="session")
def start_cluster(ray_environ: dict[str, str]) -> Iterator[Callable[..., ClusterHost]]:
    """Starts clusters: the head's options, then the CPUs of each further node."""
    hosts: list[ClusterHost] = []

    def start(head: Mapping[str, Any], *cpus: int) -> ClusterHost:
        process = subprocess.Popen(
            [sys.executable, str(HOST), json.dumps(head), *map(str, cpus)], cwd="/", env=ray_environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        host = ClusterHost(process, ray_environ, {})
        hosts.append(host)
        return host._replace(facts=host.answer())

    yield start
    for host in hosts:
        end(host.process)


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return Work.lay_out(tmp_path_factory.mktemp("work") / "squares")


@pytest.fixture(scope="session")
def undisturbed(work: Work, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run in one process leaves."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    work.begin(pace=0.0)
    code, _, err = result_of(start_assay(environ_without_ray(), *work.command(store, "--engine", "inline")))
    assert code == 0, err
    return index_of(store)
