"""Functions from files: `my_task.py:triage`, as configs and the command line name them."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
import types
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import InputError
from pipeline.functions.handle import RemoteFunction
from pipeline.functions.neighbours import OWN_PACKAGES
from pipeline.records.digest import digest_bytes
from pipeline.records.names import nearest

_loaded: dict[Path, tuple[str, types.ModuleType]] = {}  # file → digest of its text, module


def load_function_file(path: str | os.PathLike[str], name: str) -> RemoteFunction:
    """The function `name` of a Python file, which is run as on import. A plain function is decorated.

    The file's folder is searched for its imports from then on. A file that changed since it was loaded is run again.

    Raises:
        InputError: no such file or name, a name that hides one of our packages, an error in the file.
        FunctionSignatureError: the function's annotations do not do.
    """
    module = load_module(Path(path))
    found = getattr(module, name, None)
    if isinstance(found, RemoteFunction):
        return found
    if isinstance(found, types.FunctionType):
        handle = RemoteFunction(found)
        handle.is_decorated = True
        return handle
    shown = os.fspath(path)
    if found is None:
        raise InputError(f"{shown} has no function {name!r}{nearest(name, _functions(vars(module)))}")
    raise InputError(f"{name!r} in {shown} is a {type(found).__name__}, expected a function")


def load_function_reference(reference: str, folder: str | os.PathLike[str] = ".") -> RemoteFunction:
    """The function of a reference such as `my_task.py:triage`; the path is relative to `folder`."""
    path, separator, name = reference.rpartition(":")
    if not separator or not path.endswith(".py") or not name.isidentifier():
        raise InputError(f"{reference!r} names no function: write it as my_task.py:triage")
    return load_function_file(Path(folder) / path, name)


def load_module(path: Path) -> types.ModuleType:
    """Run a Python file as a module; the same file with the same text once."""
    real = path.resolve()
    try:
        source = real.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if real.stem in OWN_PACKAGES:
        raise InputError(f"{path} hides assay's own package {real.stem!r}: rename it, for example to my_{real.name}")
    digest = digest_bytes(source)
    if real in _loaded and _loaded[real][0] == digest:
        return _loaded[real][1]
    module = _run(path, real)
    _loaded[real] = (digest, module)
    return module


def _run(path: Path, real: Path) -> types.ModuleType:
    name = _module_name(real)
    spec = importlib.util.spec_from_file_location(name, real)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    _search_in(real.parent)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        if isinstance(error, KeyboardInterrupt):
            raise
        raise InputError(_explain(path, real, error)) from error
    return module


def _search_in(folder: Path) -> None:
    import scorers  # noqa: F401  # before the user's folder can hide it

    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _module_name(real: Path) -> str:
    """The file's own name where nothing else has it, so that its neighbours can import it; else one of its own."""
    standing = sys.modules.get(real.stem)
    is_free = standing is None or getattr(standing, "__file__", None) == str(real)
    if is_free and real.stem.isidentifier() and real.stem not in sys.stdlib_module_names:
        return real.stem
    return f"{real.stem}_{digest_bytes(str(real).encode())[:8]}"


def _explain(path: Path, real: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        where = error.filename if error.filename not in (None, str(real)) else path
        return f"{where}, line {error.lineno}: {error.msg}" if error.lineno else f"{where}: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(real)]
    at = f", line {lines[-1]}" if lines else ""
    return f"{path}{at}: {type(error).__name__}: {error}"


def _functions(found: Mapping[str, object]) -> list[str]:
    return [n for n, v in found.items() if isinstance(v, RemoteFunction | types.FunctionType) and not n.startswith("_")]
