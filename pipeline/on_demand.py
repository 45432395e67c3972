"""Names of a package that are fetched when they are first used: importing the package loads none of its modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], list[str]]:
    """What a package assigns to `__getattr__` and `__all__`.

    Args:
        package: its name.
        homes: module → the names that are to be had from it, separated by blanks; a module that begins with a dot is
            one of the package's own.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def fetch(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home_of[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return fetch, sorted(home_of)
