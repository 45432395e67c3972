"""The parent's side of the SQL child: starts it, sends a request, ends it when an answer is overdue."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from scorers._sql_wire import Header, receive, send

START_TIMEOUT_S = 120.0  # imports take 0.5 s; a machine that starts many workers at once takes its time
# The kernel ends the child by CPU time, so that a busy machine changes no result; the clock is for one that hangs.
CLOCK_FACTOR = 10.0
LEAST_CLOCK_S = 60.0

# Run with -I -S: no user site, no sitecustomize, no current directory; just the folders named, ours first.
_BOOT = "import sys; sys.path += sys.argv[1:]; from scorers._sql_child import main; main()"
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")  # what an interpreter may need to start at all
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    # Address space is what is limited: an arena a thread or a pool of BLAS threads would take 1.7 GiB of it.
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


class LostError(Exception):
    """The child ended without an answer: overdue, out of memory or crashed. Another one has to be started."""

    def __init__(self, message: str = "", *, is_overdue: bool = False) -> None:
        super().__init__(message)
        self.is_overdue = is_overdue
        """It was ended, by the kernel for its CPU time or by the clock; it did not end by itself."""


class SqlProcess:
    """A running child. Not for two threads at once."""

    def __init__(self) -> None:
        env = _ENVIRONMENT | {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOT, *_folders()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd="/",
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, self._process, os.getpid())
        self._has_started = False

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    def ask(self, header: Header, payload: pa.Buffer, *, cpu_s: float) -> tuple[Header, pa.Buffer]:
        """Send a request and wait for its answer, which may take `cpu_s` of the child's CPU time.

        Raises:
            LostError: no answer; the child is no more.
            RuntimeError: the child cannot start at all.
        """
        if not self._has_started:
            self._start()
        return self._exchange(header | {"cpu_s": cpu_s}, payload, timeout_s=max(CLOCK_FACTOR * cpu_s, LEAST_CLOCK_S))

    def close(self) -> None:
        """End the child and wait for its end. May be called twice."""
        self._end()

    def _start(self) -> None:
        try:
            hello, _ = self._exchange(None, None, timeout_s=START_TIMEOUT_S)
        except LostError as error:
            raise RuntimeError(
                f"the SQL process does not start: {error}; does `python -c 'import duckdb'` work?"
            ) from error
        if "error" in hello:
            self.close()
            raise RuntimeError(f"the SQL process does not start: {hello['error']}")
        self._has_started = True

    def _exchange(
        self, header: Header | None, payload: pa.Buffer | None, *, timeout_s: float
    ) -> tuple[Header, pa.Buffer]:
        # Ending the child ends every wait on its pipes, so one timer covers writing and reading.
        timer = threading.Timer(timeout_s, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            if header is not None:
                send(cast(BinaryIO, self._process.stdin), header, payload or b"")
            return receive(cast(BinaryIO, self._process.stdout))
        except (OSError, EOFError, ValueError) as error:
            self.close()
            status = self._process.returncode
            is_overdue = status in (-signal.SIGPROF, -signal.SIGKILL)
            raise LostError(f"it ended with status {status}", is_overdue=is_overdue) from error
        except BaseException:
            self.close()  # interrupted: what the pipes hold is no longer known
            raise
        finally:
            timer.cancel()


def _folders() -> list[str]:
    """Where the child finds `scorers`, pyarrow and DuckDB, found here without importing them."""
    folders = [str(Path(__file__).resolve().parent.parent)]
    for module in ("pyarrow", "duckdb", "numpy"):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None:
            folders.append(str(Path(spec.origin).parent.parent))
    return list(dict.fromkeys(folders))


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:  # a fork of the parent holds the pipes, but the child is not its own
        return
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
