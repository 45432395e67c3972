"""What a run is told that names a cluster it cannot use, and that it can use one it can."""

from __future__ import annotations

import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import ray
from clusters import ClusterHost, environ_without_ray, free_port, result_of, start_assay
from squares import Work, index_of

from pipeline.engine import gcs
from pipeline.errors import EngineError

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., ClusterHost]) -> ClusterHost:
    return start_cluster({"num_cpus": 2})


@contextmanager
def listening(reply: bytes) -> Iterator[str]:
    """The address of something that takes every connection and answers with `reply`; empty: it says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                held.append(connection)
                if reply:
                    connection.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        for connection in held:
            connection.close()


def refusal(cluster: ClusterHost, work: Work, store: Path, **variables: str) -> str:
    """What a run on the cluster says that must fail."""
    code, out, err = result_of(cluster.assay(*work.command(store), **variables))
    assert (code, out) == (2, ""), err
    return err


def test_a_web_server_is_told_from_ray() -> None:
    with (
        listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address,
        pytest.raises(EngineError, match=r"is not Ray .* 6379 by default"),
    ):
        gcs.probe(address, address)


def test_something_that_says_nothing_is_given_up_in_seconds() -> None:
    with listening(b"") as address, pytest.raises(EngineError, match=r"no Ray answers at .* timed out"):
        gcs.probe(address, address, timeout_s=0.5)


def test_an_address_where_nothing_listens_is_refused_at_once() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(EngineError, match=r"no Ray answers at .* refused"):
        gcs.probe(address, address)


def test_a_run_with_the_token_in_a_file_works_and_leaves_the_same_index(
    cluster: ClusterHost, work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    work.begin(pace=0.0)
    code, _, err = result_of(cluster.assay(*work.command(tmp_path / "store")))
    assert code == 0, err
    assert index_of(tmp_path / "store") == undisturbed


def test_a_run_without_a_token_is_told_which_variables_to_set(cluster: ClusterHost, work: Work, tmp_path: Path) -> None:
    said = refusal(cluster, work, tmp_path / "store", RAY_AUTH_MODE="", RAY_AUTH_TOKEN_PATH="")
    assert "does not take this process's token (RAY_AUTH_MODE is not set, so none is sent)" in said
    assert "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH to a file" in said
    assert "go on with: assay resume" in said


def test_a_run_with_the_wrong_token_is_told_where_it_came_from(
    cluster: ClusterHost, work: Work, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("0" * 64)
    said = refusal(cluster, work, tmp_path / "store", RAY_AUTH_TOKEN_PATH=str(tmp_path / "token"))
    assert f"does not take this process's token (the one in RAY_AUTH_TOKEN_PATH={tmp_path / 'token'})" in said
    assert "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH to a file" in said


def test_what_starts_a_cluster_or_joins_it_leaves_no_token_that_others_can_read(cluster: ClusterHost) -> None:
    home = Path(cluster.environ["HOME"])
    token = cluster.environ["RAY_AUTH_TOKEN_PATH"]
    assert not (home / ".ray" / "auth_token").exists()
    secret = Path(token).read_text()
    open_to_others = [
        path
        for path in home.rglob("*")
        if path.is_file() and path.stat().st_mode & 0o077 and secret.encode() in path.read_bytes()
    ]
    assert open_to_others == []


def test_a_port_of_the_cluster_that_is_not_its_heads_is_refused(cluster: ClusterHost) -> None:
    """A raylet speaks gRPC too."""
    port = cluster.facts["raylet_port"]
    program = f"from pipeline.engine import gcs; gcs.check_membership('127.0.0.1:{port}', 'there')"
    done = subprocess.run([sys.executable, "-c", program], env=cluster.environ, capture_output=True, text=True)
    assert "EngineError: what listens at there is not the head of a Ray cluster" in done.stderr


def test_a_run_through_the_client_port_is_told_where_to_go(work: Work, tmp_path: Path) -> None:
    arguments = work.command(tmp_path / "store", "--ray-address", "ray://127.0.0.1:10001")
    code, _, err = result_of(start_assay(environ_without_ray(), *arguments))
    assert code == 2
    assert "cannot be driven through Ray's client port (ray://127.0.0.1:10001): name the head itself" in err


@pytest.mark.parametrize(
    "versions", [("2.55.1", platform.python_version()), (ray.__version__, "3.9.18")], ids=["ray", "python"]
)
def test_a_cluster_of_other_versions_is_refused_with_both(
    cluster: ClusterHost, work: Work, tmp_path: Path, versions: tuple[str, str]
) -> None:
    """The head says so itself: what it keeps about itself is changed."""
    here = (ray.__version__, platform.python_version())
    cluster.order("claim", *versions)
    try:
        said = refusal(cluster, work, tmp_path / "store")
    finally:
        cluster.order("claim", *here)
    assert f"runs Ray {versions[0]} on Python {versions[1]}, this process Ray {here[0]} on Python {here[1]}" in said
    assert "they must be equal" in said
