"""Environment variables that a function asks for, set for the time of its calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pipeline.functions.secret import Secret

_lock = threading.Lock()
_holders: dict[str, tuple[int, str | None]] = {}
"""By name: how many calls have it set, and its value before the first of them."""


@contextmanager
def environment(env: Mapping[str, str | Secret]) -> Iterator[None]:
    """Set variables, until the last of those who set them at the same time is done.

    Raises:
        FunctionError: a secret is not set here.
    """
    values = {name: item.value() if isinstance(item, Secret) else item for name, item in env.items()}
    _set(values)
    try:
        yield
    finally:
        _restore(values)


def _set(values: Mapping[str, str]) -> None:
    with _lock:
        for name, value in values.items():
            holders, before = _holders.get(name, (0, os.environ.get(name)))
            _holders[name] = (holders + 1, before)
            os.environ[name] = value


def _restore(values: Mapping[str, str]) -> None:
    with _lock:
        for name in values:
            holders, before = _holders.pop(name)
            if holders > 1:
                _holders[name] = (holders - 1, before)
            elif before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before
