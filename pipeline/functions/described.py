"""Values as JSON that is the same in every process: what a function refers to, described for its version.

Functions and classes of the user's are described by their source and, in turn, by what they refer to; installed ones
by their names; other values by their content. Addresses, file names and the order of sets never enter.
"""

from __future__ import annotations

import enum
import os
import re
import types
from collections.abc import Iterable
from typing import Any, get_args, get_origin

import cloudpickle

from pipeline.functions.neighbours import is_neighbour, module_of, neighbour_source
from pipeline.functions.references import references
from pipeline.functions.source import class_source, code_digest, function_source
from pipeline.records.digest import digest_bytes, digest_json

_UNKNOWN = object()


class Describer:
    """Describes values that may refer to each other in circles; one for each version.

    Args:
        home: the function's top-level package, which is looked into even where it is installed.
    """

    def __init__(self, home: str = "") -> None:
        self._home = home
        self._done: dict[int, tuple[Any, Any]] = {}  # id → description; the value is kept so that its id stays its own
        self._open: list[int] = []
        self.imports: set[str] = set()
        """Modules that the described functions import in their bodies, or hold as globals."""

    def describe(self, value: Any) -> Any:
        """The description of a value, as JSON."""
        plain = _plain(value)
        if plain is not _UNKNOWN:
            return plain
        if id(value) in self._open:
            return ["within", self._open.index(id(value))]
        if id(value) not in self._done:
            self._open.append(id(value))
            # Digests, since a description that is repeated wherever it is referred to may grow without bound.
            self._done[id(value)] = (digest_json(self._compound(value)), value)
            self._open.pop()
        return self._done[id(value)][0]

    def _compound(self, value: Any) -> Any:
        for kind, describe in self._kinds():
            if isinstance(value, kind):
                return describe(value)
        return self._annotation(value) or self._object(value)

    def function(self, function: types.FunctionType, *, is_home: bool = False) -> list[Any]:
        """A function by its source, defaults, closure and the globals that its code reads."""
        if not is_home and not is_neighbour(module_of(function), self._home):
            return ["installed", f"{function.__module__}.{function.__qualname__}"]
        body = function_source(function) or code_digest(function.__code__)
        defaults = [function.__defaults__, function.__kwdefaults__]
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        closure = {name: self._cell(cell) for name, cell in cells}
        return ["function", body, self.describe(defaults), closure, self._globals(function)]

    def _kinds(self) -> Iterable[tuple[Any, Any]]:
        yield types.FunctionType, self.function
        yield type, self._class
        yield types.ModuleType, self._module
        yield types.MethodType, lambda m: ["method", self.describe(m.__func__), self.describe(m.__self__)]
        yield types.BuiltinFunctionType, lambda b: ["installed", f"{b.__module__}.{b.__qualname__}"]
        yield enum.Enum, lambda member: ["member", self.describe(type(member)), member.name]
        yield (list, tuple), lambda items: self._container(items, map(self.describe, items))
        yield (set, frozenset), self._set
        yield dict, lambda d: self._container(d, ([self.describe(k), self.describe(v)] for k, v in d.items()))
        yield types.MappingProxyType, lambda proxy: ["mappingproxy", self.describe(dict(proxy))]
        yield type(os.environ), lambda _: ["installed", "os.environ"]  # another in each shell
        yield re.Pattern, lambda pattern: ["pattern", self.describe(pattern.pattern), pattern.flags]

    def _container(self, value: Any, items: Iterable[Any]) -> list[Any]:
        """A list, tuple or dict by its items; one of a class of its own also as an object, which knows its state."""
        if type(value) in (list, tuple, dict):
            return [type(value).__name__, *items]
        return ["container", self.describe(type(value)), list(items), self._object(value)]

    def _set(self, value: Any) -> list[Any]:
        """A set by its items in an order of their own: how it would be pickled depends on the process."""
        items = sorted(map(self.describe, value), key=repr)
        if type(value) in (set, frozenset):
            return [type(value).__name__, *items]
        return ["container", self.describe(type(value)), items, self.describe(getattr(value, "__dict__", None))]

    def _cell(self, cell: types.CellType) -> Any:
        try:
            return self.describe(cell.cell_contents)
        except ValueError:  # not filled yet
            return ["empty"]

    def _globals(self, function: types.FunctionType) -> dict[str, Any]:
        found = references(function.__code__, function.__globals__.get("__package__") or "")
        described: dict[str, Any] = {}
        for name in sorted(found.imports):
            if (source := neighbour_source(name)) is not None:
                self.imports.add(name)
                described[f"import {name}"] = digest_bytes(source[0].encode())
        for path in sorted(found.names):
            if path[0] in function.__globals__:
                name, value, owner = _resolve(path, function.__globals__[path[0]])
                described[name] = self.describe(value) if owner is None else self._attribute(owner, name, value)
        return described

    def _attribute(self, owner: types.ModuleType, name: str, value: Any) -> Any:
        """What is read from a module: of an installed one its name, since `os.environ` differs in each shell."""
        if isinstance(value, types.ModuleType) or is_neighbour(owner, self._home):
            return self.describe(value)
        return ["installed", f"{owner.__name__}.{name.rpartition('.')[2]}"]

    def _module(self, module: types.ModuleType) -> list[Any]:
        """A module that is read as a whole, or handed on: by its source where it is a neighbour."""
        source = neighbour_source(module.__name__)
        return ["module", module.__name__, digest_bytes(source[0].encode()) if source else None]

    def _class(self, cls: type) -> list[Any]:
        if not is_neighbour(module_of(cls), self._home):
            return ["installed", f"{cls.__module__}.{cls.__qualname__}"]
        methods = {n: f for n, m in vars(cls).items() if (f := _method(m)) and is_neighbour(module_of(f), self._home)}
        inner = {
            name: self._globals(method) if _is_named(cls, method) else self.describe(method)
            for name, method in sorted(methods.items())
        }
        source = class_source(cls) or {
            name: self.describe(member)
            for name, member in sorted(vars(cls).items())
            if name not in methods and not name.startswith("__")
        }
        # Also where there is a source: it may have been edited after the class was loaded.
        code = {name: code_digest(method.__code__) for name, method in sorted(methods.items())}
        hints = {name: self.describe(hint) for name, hint in sorted(getattr(cls, "__annotations__", {}).items())}
        return ["class", cls.__name__, source, code, list(map(self.describe, cls.__bases__)), inner, hints]

    def _annotation(self, value: Any) -> list[Any] | None:
        if get_origin(value) is None:
            return None
        return ["generic", self.describe(get_origin(value)), *map(self.describe, get_args(value))]

    def _object(self, value: Any) -> list[Any]:
        """Any other object, by how it would be pickled: its class, arguments and state."""
        if isinstance(inner := getattr(value, "__wrapped__", None), types.FunctionType):
            return ["wrapped", self.describe(type(value)), self.describe(inner), self._version_of(value)]
        try:
            parts = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001  # the class of the user's decides what it raises
            return ["object", f"{type(value).__module__}.{type(value).__qualname__}"]
        if isinstance(parts, str):
            return ["named", parts]
        try:
            items = [list(part) if place > 2 and part is not None else part for place, part in enumerate(parts[:5])]
            return ["object", *map(self.describe, items)]
        except RecursionError:
            return ["pickle", digest_bytes(cloudpickle.dumps(value))]

    def _version_of(self, handle: Any) -> Any:
        options: Any = getattr(handle, "options", None)
        return self.describe(options.deciding()) if hasattr(options, "deciding") else None


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, str):
        is_plain = not isinstance(value, str) or value.isascii()
        return value if is_plain else ["text", value.encode("utf-8", "surrogatepass").hex()]
    if type(value) is int:
        return value if abs(value) < 2**53 else ["int", str(value)]
    # By name and repr: JSON has one number for 1 and 1.0, and for 0.0 and -0.0.
    if type(value) in (float, complex):
        return [type(value).__name__, repr(value)]
    if type(value) in (bytes, bytearray):
        return [type(value).__name__, digest_bytes(bytes(value))]
    return ["ellipsis"] if value is ... else _UNKNOWN


def _resolve(path: tuple[str, ...], value: Any) -> tuple[str, Any, types.ModuleType | None]:
    """Follow a dotted path as far as there are modules: name, value, and the module that it is read from."""
    name, owner = path[0], None
    for attribute in path[1:]:
        if not isinstance(value, types.ModuleType) or not hasattr(value, attribute):
            break
        name, owner, value = f"{name}.{attribute}", value, getattr(value, attribute)
    return name, value, owner


def _method(member: Any) -> types.FunctionType | None:
    found = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
    return found if isinstance(found, types.FunctionType) else None


def _is_named(cls: type, method: types.FunctionType) -> bool:
    """Whether the method stands in the class's own source, rather than having been put there (as by dataclass)."""
    return method.__qualname__.startswith(f"{cls.__qualname__}.") and not method.__code__.co_filename.startswith("<")
