"""A function as bytes and back: cloudpickle by value, with the user's own modules that workers do not have."""

from __future__ import annotations

import importlib
import io
import pickle
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cloudpickle

from pipeline.errors import CorruptError, FunctionBuildError
from pipeline.functions.bundled import install_bundle, with_imports
from pipeline.functions.failures import describe_error
from pipeline.functions.neighbours import is_neighbour
from pipeline.functions.options import FunctionOptions
from pipeline.functions.references import references
from pipeline.functions.signature import Signature, closed_over
from pipeline.functions.version import python_minor
from pipeline.records.digest import digest_bytes
from pipeline.records.function import FunctionRecord


@dataclass(frozen=True)
class Definition:
    """What a payload carries: all that a worker needs for the calls."""

    function: types.FunctionType
    signature: Signature
    options: FunctionOptions


def dump_definition(definition: Definition, imports: Iterable[str]) -> bytes:
    """The payload of a definition.

    Args:
        imports: neighbour modules that the body imports; their sources travel along.

    Raises:
        FunctionBuildError: something that the function refers to cannot be pickled; the message names it.
    """
    function = definition.function
    home = (function.__module__ or "").partition(".")[0]
    try:
        with _by_value(home):
            buffer = io.BytesIO()
            pickler = _Pickler(buffer, protocol=pickle.DEFAULT_PROTOCOL)
            pickler.dump(definition)
            modules = with_imports([*imports, *pickler.modules])
        return pickle.dumps({"modules": modules, "definition": buffer.getvalue()}, protocol=pickle.DEFAULT_PROTOCOL)
    except Exception as error:
        culprit = _culprit(function, home)
        where = f"{culprit!r}, which {function.__name__}() refers to," if culprit else f"{function.__name__}()"
        raise FunctionBuildError(
            f"{where} cannot be sent to workers ({describe_error(error)}); make it inside the function instead"
        ) from error


def load_definition(payload: bytes, record: FunctionRecord, sha256: str) -> Definition:
    """The definition in a payload. Runs code that the payload holds: only for bytes that are trusted.

    Raises:
        CorruptError: the bytes are not those of the digest.
        FunctionBuildError: pickled by another Python, or not loadable here.
    """
    if digest_bytes(payload) != sha256:
        raise CorruptError(f"the payload of function {record.name!r} is not the one that was pinned ({sha256})")
    check_python(record)
    try:
        outer: dict[str, Any] = pickle.loads(payload)
        install_bundle(outer["modules"])
        found = pickle.loads(outer["definition"])
    except Exception as error:
        differs = _cloudpickle_differs(record)
        raise FunctionBuildError(
            f"function {record.name!r} cannot be loaded: {describe_error(error)}{differs}"
        ) from error
    if not isinstance(found, Definition):
        raise FunctionBuildError(f"the payload of function {record.name!r} holds no function: deploy it again")
    return found


def check_python(record: FunctionRecord) -> None:
    """Raise FunctionBuildError where another Python pickled the payload: bytecode differs between minor versions."""
    if record.python != python_minor():
        raise FunctionBuildError(
            f"function {record.name!r} was pickled by Python {record.python}, this is {python_minor()}: "
            f"deploy it again, or use Python {record.python}"
        )


def _cloudpickle_differs(record: FunctionRecord) -> str:
    if record.cloudpickle == cloudpickle.__version__:
        return ""
    return f" (it was pickled by cloudpickle {record.cloudpickle}, this is {cloudpickle.__version__}: deploy it again)"


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """Modules of the user's go by name, and their sources travel beside: their globals may not pickle."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.modules: list[str] = []

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType) and value.__name__ != "__main__" and is_neighbour(value):
            self.modules.append(value.__name__)
            return importlib.import_module, (value.__name__,)
        return super().reducer_override(value)


_registry_lock = threading.RLock()  # cloudpickle has one registry for the whole process


@contextmanager
def _by_value(home: str) -> Iterator[None]:
    """Functions and classes of neighbours are pickled by value while this is open."""
    with _registry_lock:
        yield from _registered(home)


def _registered(home: str) -> Iterator[None]:
    before = cloudpickle.list_registry_pickle_by_value()
    loaded = [module for name, module in list(sys.modules.items()) if isinstance(module, types.ModuleType) and name]
    added = [m for m in loaded if m.__name__ not in before and m.__name__ in sys.modules and is_neighbour(m, home)]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for name in {module.__name__ for module in added}:
            cloudpickle.unregister_pickle_by_value(sys.modules[name])


def _culprit(function: types.FunctionType, home: str) -> str | None:
    """The first global or closed-over name whose value cannot be pickled."""
    names = sorted({path[0] for path in references(function.__code__).names})
    values = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, value in {**values, **closed_over(function)}.items():
        try:
            with _by_value(home):
                _Pickler(io.BytesIO(), pickle.DEFAULT_PROTOCOL).dump(value)
        except Exception:  # noqa: BLE001  # that it fails is what is asked
            return name
    return None
