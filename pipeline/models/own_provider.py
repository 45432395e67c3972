"""Providers of the user's own: a class in a Python file beside the profile's, which is run as on import."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from pipeline.errors import InputError
from pipeline.models.provider import Provider
from pipeline.records.digest import digest_bytes
from pipeline.records.names import nearest
from pipeline.records.provider_profile import ProviderProfile


def open_own_provider(profile: ProviderProfile, model: str, environment: Mapping[str, str]) -> Provider:
    """The user's provider: its class is called with the profile, the model's name and the environment.

    Raises:
        InputError: the file was not named by the user, cannot be run, or has no such class.
    """
    file, _, name = profile.kind.rpartition(":")
    path = profile.folder / file
    if not profile.may_load:
        raise InputError(
            f"provider {profile.name!r} would run {path}, and its profile was only found in this folder: "
            "name the profile's file with --providers, if you trust it"
        )
    found = getattr(_module(path), name, None)
    if found is None:
        raise InputError(f"{path} has no class {name!r}{nearest(name, _classes(path))}")
    try:
        provider = found(profile, model, environment)
    except Exception as error:
        raise InputError(f"{path}: {name} cannot be made: {type(error).__name__}: {error}") from error
    for method in ("complete", "close"):
        if not inspect.iscoroutinefunction(getattr(provider, method, None)):
            raise InputError(f"{path}: {name} has no `async def {method}`, which a provider needs")
    return cast(Provider, provider)


_modules: dict[Path, ModuleType] = {}


def _module(path: Path) -> ModuleType:
    """The file as a module; one that neighbours cannot import by name, so that it hides nothing."""
    real = path.resolve()
    if real in _modules:
        return _modules[real]
    if not real.is_file():
        raise InputError(f"{path}: there is no such file, which the profile's kind names")
    name = f"{real.stem}_{digest_bytes(str(real).encode())[:8]}"
    spec = importlib.util.spec_from_file_location(name, real)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles of the file look for it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(real)]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        raise InputError(f"{path}{f':{line}' if line else ''}: {type(error).__name__}: {error}") from error
    _modules[real] = module
    return module


def _classes(path: Path) -> list[str]:
    members: dict[str, Any] = vars(_module(path))
    return [name for name, value in members.items() if isinstance(value, type) and not name.startswith("_")]
