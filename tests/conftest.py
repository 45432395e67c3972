"""Servers that tests share: real S3 implementations on free ports, started once where a test asks for them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from hypothesis import settings

# A loaded machine is slow, and slowness is not what the tests are about.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")


@pytest.fixture(scope="session")
def honest() -> ModuleType:
    """`honest_sessions.py`, for tests of several folders; there is no package here from which to import it."""
    spec = importlib.util.spec_from_file_location("honest_sessions", Path(__file__).with_name("honest_sessions.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class S3Server(NamedTuple):
    """A running server: its address, and a bucket that is there."""

    endpoint: str
    bucket: str

    @property
    def options(self) -> dict[str, object]:
        """Options of a `Store` on it."""
        return {
            "key": "test",
            "secret": "testtest",
            "endpoint_url": self.endpoint,
            "client_kwargs": {"region_name": "us-east-1"},
            "config_kwargs": {"s3": {"addressing_style": "path"}},
        }


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """moto's S3 server: its errors are AWS's."""
    with serving_moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture(scope="session")
def moto_url(moto: S3Server) -> str:
    """The endpoint of moto."""
    return moto.endpoint


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """SeaweedFS: a second, independent S3."""
    with serving_seaweed(tmp_path_factory.mktemp("seaweed")) as server:
        yield server


@contextlib.contextmanager
def serving_moto(folder: Path) -> Iterator[S3Server]:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running(command, port, folder):
        yield with_bucket(S3Server(f"http://127.0.0.1:{port}", "assay"))


@contextlib.contextmanager
def serving_seaweed(folder: Path) -> Iterator[S3Server]:
    identity = {
        "name": "test",
        "credentials": [{"accessKey": "test", "secretKey": "testtest"}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    # Each port has a gRPC twin 10,000 above it, which must be a port too. Catalogs have fixed ports: none of them.
    command = [
        program("weed"), "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        f"-master.port={ports['master']}", f"-volume.port={ports['volume']}", "-filer", f"-filer.port={ports['filer']}",
        "-s3", f"-s3.port={ports['s3']}", f"-s3.config={folder / 's3.json'}", "-master.telemetry=false",
        "-master.volumeSizeLimitMB=64", "-volume.max=20", "-s3.port.iceberg=0", "-s3.port.lance=0",
    ]  # fmt: skip
    with running(command, ports["s3"], folder):
        yield with_bucket(S3Server(f"http://127.0.0.1:{ports['s3']}", "assay"))


@pytest.fixture(scope="session")
def seaweed_url(seaweed: S3Server) -> str:
    """The endpoint of SeaweedFS."""
    return seaweed.endpoint


@pytest.fixture(scope="session")
def overwriting_s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A look-alike of S3 that accepts the condition of a create and overwrites all the same."""
    port, folder = free_port(), tmp_path_factory.mktemp("rclone")
    (folder / "data" / "assay").mkdir(parents=True)
    command = [
        program("rclone"), "serve", "s3", "--config", "/dev/null", "--auth-key", "test,testtest",
        "--addr", f"127.0.0.1:{port}", str(folder / "data"),
    ]  # fmt: skip
    with running(command, port, folder):
        yield S3Server(f"http://127.0.0.1:{port}", "assay")


def with_bucket(server: S3Server) -> S3Server:
    import boto3

    client = boto3.client(
        "s3", endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id="test",
        aws_secret_access_key="testtest",
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while True:
        try:
            client.create_bucket(Bucket=server.bucket)
            return server
        except Exception:  # the port is open before the service answers
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@contextlib.contextmanager
def running(command: list[str], port: int, folder: Path) -> Iterator[None]:
    """A server process, from its open port until the end of the block."""
    with open(folder / "server.log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            deadline = time.monotonic() + 60
            while not is_open(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]} did not start: {(folder / 'server.log').read_text()[-2000:]}")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def program(name: str) -> str:
    """A program of this environment's, else of the PATH."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    assert found, f"{name} is not installed; install the extra dev"
    return found


def free_port() -> int:
    """Far from those of a test process beside this one.

    Low enough that the gRPC twin of a SeaweedFS port, 10,000 above, is a port too.
    """
    for port in range(20_000 + os.getpid() * 97 % 10_000, 55_000):
        if port not in _given and is_free(port) and is_free(port + 10_000):
            _given.add(port)
            return port
    raise RuntimeError("no free port")


_given: set[int] = set()


def is_free(port: int) -> bool:
    """Whether a server may have it: also a client's end of a connection takes a port."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
