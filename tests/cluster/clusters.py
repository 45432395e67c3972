"""Clusters and the command line as processes of their own, and how the tests wait for them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
HOST = Path(__file__).with_name("host.py")
PATIENCE_S = 120.0  # for anything on a busy machine


class ClusterHost(NamedTuple):
    """A cluster in a process of its own, and the environment in which a driver finds it."""

    process: subprocess.Popen[str]
    environ: Mapping[str, str]
    facts: Mapping[str, Any]

    @property
    def address(self) -> str:
        return str(self.facts["address"])

    def order(self, *words: object) -> dict[str, Any]:
        assert self.process.stdin is not None
        print(*words, file=self.process.stdin, flush=True)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        heard = []
        for line in self.process.stdout:
            if line.startswith("{"):
                return dict(json.loads(line))
            heard.append(line)  # Ray itself says a word or two
        raise AssertionError(f"the cluster's process ended with {self.process.wait()}: {''.join(heard)[-2000:]}")

    def assay(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start the command line on this cluster."""
        return start_assay(self.environ | {"RAY_ADDRESS": self.address} | variables, *arguments)


def start_assay(environ: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *arguments], cwd=ROOT, env=environ,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def result_of(process: subprocess.Popen[str], timeout_s: float = PATIENCE_S) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, out, err


def wait_until(is_so: Callable[[], bool], what: str, run: subprocess.Popen[str] | None = None) -> None:
    """Wait for something that happens while `run` is at work."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if run is not None and run.poll() is not None:
            raise AssertionError(f"{what}: the run ended with {result_of(run)}")
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def free_port() -> int:
    """One of those that the kernel gives away: above the ports of Ray's workers (10,002 to 19,999)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environ_without_ray() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


def end(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate("end\n", timeout=20)
    except (subprocess.TimeoutExpired, OSError, ValueError):
        process.kill()
        process.wait()
