"""Modules that are not installed and so must travel with a function: those beside the script, its files or in cwd."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
import sysconfig
import types
from functools import cache
from pathlib import Path

OWN_PACKAGES = ("pipeline", "scorers")


def is_neighbour(module: types.ModuleType | None, home: str = "") -> bool:
    """Whether a module is the user's own and workers may not have it: `__main__`, or a file that is not installed.

    Args:
        home: a top-level package that counts as the user's own, although it may be installed: the function's.
    """
    if module is None:
        return True  # a module that was never in sys.modules, or is there no more, can be imported nowhere
    top = module.__name__.partition(".")[0]
    if top in OWN_PACKAGES or module.__name__ in sys.builtin_module_names:
        return False
    if top in ("__main__", home):
        return True
    return is_neighbour_file(getattr(module, "__file__", None)) or _is_made_up(module)


def is_neighbour_file(path: str | None) -> bool:
    """Whether a file is Python source outside of everything that is installed."""
    return bool(path) and str(path).endswith(".py") and not _is_installed(str(path))


def module_of(value: object) -> types.ModuleType | None:
    """The module that a function or class says it is from."""
    return sys.modules.get(getattr(value, "__module__", None) or "")


def neighbour_source(name: str) -> tuple[str, bool] | None:
    """The source of a neighbour by its name, and whether it is a package; None for all other modules."""
    module = sys.modules.get(name)
    try:
        spec = module.__spec__ if module else importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    path = spec.origin if spec else getattr(module, "__file__", None)
    if name.partition(".")[0] in (*OWN_PACKAGES, "__main__") or not is_neighbour_file(path):
        folders = spec.submodule_search_locations if spec and spec.origin is None else None
        is_own_folder = folders and not any(_is_installed(folder) for folder in folders)
        return ("", True) if is_own_folder else None  # a folder without __init__.py holds no source of its own
    return Path(str(path)).read_text(encoding="utf-8"), Path(str(path)).name == "__init__.py"


def _is_made_up(module: types.ModuleType) -> bool:
    """A module that a notebook or `exec` made: nothing on disk, nothing frozen, nothing built in."""
    return getattr(module, "__file__", None) is None and getattr(module, "__spec__", None) is None


@cache
def _is_installed(path: str) -> bool:
    return os.path.realpath(path).startswith(_installed_folders())


@cache
def _installed_folders() -> tuple[str, ...]:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    folders.add(str(Path(importlib.util.__file__).parent.parent))
    return tuple(os.path.realpath(folder) + os.sep for folder in folders if folder)
