"""Peak memory of a run's driver and of its workers on Ray, sampled from outside."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import psutil

EVERY_S = 0.05
USS_EVERY = 10  # samples: the kernel walks the page tables for it, which would slow down what is measured
WORKER = re.compile(r"ray::\w*Actor\b")  # an idle worker, or an agent of Ray, is named otherwise


@dataclass
class Peaks:
    """Bytes. RSS counts pages that processes share in each of them; USS counts those of one process alone."""

    driver_rss: int = 0
    driver_uss: int = 0
    worker_rss: int = 0
    """The largest worker."""
    workers_rss: int = 0
    """All workers of one moment."""
    worker_uss: int = 0
    workers_uss: int = 0
    workers: set[int] = field(default_factory=set)
    """Process ids."""

    def raise_to(self, kind: str, driver: int, workers: Sequence[int]) -> None:
        """Take in a sample of `rss` or `uss`."""
        found = {f"driver_{kind}": driver, f"worker_{kind}": max(workers, default=0), f"workers_{kind}": sum(workers)}
        for name, value in found.items():
            setattr(self, name, max(value, getattr(self, name)))


class Watched(NamedTuple):
    """A command that ended well, and what it held."""

    stdout: str
    peaks: Peaks


def watch(command: Sequence[str]) -> Watched:
    """Run a command that drives workers on a Ray of its own, and sample it and them until it ends.

    Raises:
        SystemExit: it failed; its stderr has been shown.
    """
    peaks, is_over = Peaks(), threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        sampler = threading.Thread(target=_sample, args=(psutil.Process(process.pid), peaks, is_over))
        sampler.start()
        stdout = process.stdout.read()
        is_over.set()
        sampler.join()
    if process.returncode:
        raise SystemExit(f"{command[0]} … ended with status {process.returncode}")
    return Watched(stdout, peaks)


def workers_of(driver: psutil.Process) -> Iterator[psutil.Process]:
    """The processes that hold an actor of ours, below the Ray that the driver has started."""
    with suppress(psutil.Error):
        for process in driver.children(recursive=True):
            with suppress(psutil.Error, IndexError):
                if WORKER.match(process.cmdline()[0]):
                    yield process


def _sample(driver: psutil.Process, peaks: Peaks, is_over: threading.Event) -> None:
    workers: list[psutil.Process] = []
    number, due = 0, time.monotonic()
    while not is_over.wait(max(0.0, due - time.monotonic())):
        if number % USS_EVERY == 0:
            workers = list(workers_of(driver))
            peaks.workers |= {worker.pid for worker in workers}
            with suppress(psutil.Error):
                found = [worker.memory_full_info().uss for worker in workers]
                peaks.raise_to("uss", driver.memory_full_info().uss, found)
        with suppress(psutil.Error):
            peaks.raise_to("rss", driver.memory_info().rss, [worker.memory_info().rss for worker in workers])
        number, due = number + 1, due + EVERY_S
