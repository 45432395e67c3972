"""A Ray of our own on this machine: quiet, private, gone when the process ends. Never joins or stops another's."""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import logging
import os
import secrets
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import EngineError

PREFIX = "assay-ray-"
_TOKEN = secrets.token_hex(32)  # one a process: Ray's own library reads it once, and a second Ray must know the same
OBJECT_STORE_BYTES = 128 * 2**20  # receipts and specs only; Ray's own default takes a third of the memory
START_TRIES = 3  # a port that Ray found free may be taken by the time it listens there
LOCKLESS_S = 3600.0  # old enough that no start is between making the folder and locking it
SIGACTION_BYTES = 512  # of the system's struct; 152 on Linux, 16 on macOS
LONGEST_FOLDER = 37  # characters: sockets lie 65 below it, and macOS allows 103 in all


class LocalRay:
    """A Ray that is being started. It lives until `stop`, at the latest until the interpreter exits."""

    def __init__(self) -> None:
        _sweep_dead_folders()
        self._folder = tempfile.mkdtemp(prefix=PREFIX, dir=_short_temp_folder())
        self._lock = _lock_folder(self._folder)
        self._pid = os.getpid()
        self._failure: BaseException | None = None
        self._is_up = threading.Event()
        self._may_end = threading.Event()
        # The kernel kills Ray's processes when the *thread* that started them ends (PR_SET_PDEATHSIG). A run's thread
        # ends with the run; this one stays. It also keeps Ray from installing a SIGTERM handler in the main thread.
        threading.Thread(target=self._hold, name="assay-ray", daemon=True).start()
        atexit.register(self.stop)

    def wait_until_up(self) -> None:
        """Return when Ray can be used.

        Raises:
            EngineError: it did not start.
        """
        self._is_up.wait()
        if self._failure is not None:
            self.stop()
            raise EngineError(
                f"a local Ray could not be started: {self._failure}; use --engine inline, or name a cluster with "
                "--ray-address"
            ) from self._failure

    def stop(self) -> None:
        """End Ray's processes and remove the folder. A second call, or one in a forked child, does nothing."""
        if self._may_end.is_set() or os.getpid() != self._pid:
            return
        self._is_up.wait()
        import ray

        ray.shutdown()
        self._may_end.set()
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)
        atexit.unregister(self.stop)

    def _hold(self) -> None:
        for number in range(START_TRIES):
            try:
                _start(self._folder, str(number))
                self._failure = None
                break
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                self._failure = error
                _clear_failed_start()
        self._is_up.set()
        self._may_end.wait()


def quiet_import() -> None:
    """Import Ray with its notices off: they are about this process, and its user did not ask for Ray."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        import ray  # noqa: F401
    logging.getLogger("ray").setLevel(logging.ERROR)


def quiet_init(**options: Any) -> None:
    """`ray.init` without a word on stdout or stderr, then or later: stdout may be what another program reads."""
    import ray
    from ray._private import worker

    # Ray prints the death of every worker on stdout, whatever log_to_driver says, in the thread that this is run in.
    echo = worker.listen_error_messages
    worker.listen_error_messages = lambda *_: None
    try:
        with warnings.catch_warnings(), _same_handler_of(signal.SIGTERM):
            warnings.simplefilter("ignore", FutureWarning)
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
    finally:
        worker.listen_error_messages = echo


@contextmanager
def _same_handler_of(number: signal.Signals) -> Iterator[None]:
    """Put back what the process does on a signal, whatever the block sets.

    Ray's core sets a handler that writes a stack to stderr, calls the one before, and aborts the process three seconds
    later. `signal.signal` cannot put it back: it works in the main thread only, and sees no handler but Python's.
    """
    libc = ctypes.CDLL(None)
    saved = ctypes.create_string_buffer(SIGACTION_BYTES)
    libc.sigaction(int(number), None, saved)
    try:
        yield
    finally:
        libc.sigaction(int(number), saved, None)


def _clear_failed_start() -> None:
    import ray

    ray.shutdown()


def _start(folder: str, session: str) -> None:
    token = Path(folder, "token")
    token.touch(mode=0o600)
    token.write_text(_TOKEN)
    with _environment(_variables(str(token))):
        quiet_import()
        quiet_init(
            address="local",
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            _temp_dir=str(Path(folder, session)),
        )


def _variables(token_path: str) -> dict[str, str | None]:
    """What Ray's processes inherit; None removes a variable. Its own token file would be readable by everybody."""
    return {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": None,  # Ray then turns tokens on; set, it would be ignored where Ray is imported already
        "RAY_AUTH_TOKEN": None,
        "RAY_AUTH_TOKEN_PATH": token_path,
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_ADDRESS": None,
    }


@contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    _put(variables)
    try:
        yield
    finally:
        _put(before)


def _put(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _short_temp_folder() -> str:
    folder = tempfile.gettempdir()
    return folder if len(folder) + len(PREFIX) + 8 <= LONGEST_FOLDER else "/tmp"


def _lock_folder(folder: str) -> int:
    """Held open while the process lives, however it ends: that is how `_sweep_dead_folders` knows."""
    lock = os.open(Path(folder, "lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _remove_if_old(folder: Path) -> None:
    try:
        if time.time() - folder.stat().st_mtime > LOCKLESS_S:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return


def _sweep_dead_folders() -> None:
    """Remove what a killed process of this user left behind."""
    for folder in Path(_short_temp_folder()).glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            _remove_if_old(folder)  # not yet locked, or made again by an agent that outlived its Ray
            continue
        except OSError:
            continue  # somebody else's
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass  # its process lives
        finally:
            os.close(lock)
