"""What a function's code refers to: names of globals with the attributes read from them, and imports in its body."""

from __future__ import annotations

import dis
import types
from typing import NamedTuple

_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")


class References(NamedTuple):
    """The outward references of one code object and of those nested in it."""

    names: frozenset[tuple[str, ...]]
    """Dotted paths that start with a global's name: `("helpers", "clean")` for `helpers.clean(x)`."""
    imports: frozenset[str]
    """Absolute names of modules that the body imports, `package.member` where the member may be a module."""


def references(code: types.CodeType, package: str = "") -> References:
    """The references of a code object; `package` is what relative imports start from."""
    names: set[tuple[str, ...]] = set()
    imports: set[str] = set()
    for one in _all_code(code):
        _scan(list(dis.get_instructions(one)), package, names, imports)
    return References(frozenset(names), frozenset(imports))


def _scan(steps: list[dis.Instruction], package: str, names: set[tuple[str, ...]], imports: set[str]) -> None:
    module = ""
    for place, step in enumerate(steps):
        if step.opname in _GLOBAL:
            names.add((step.argval, *_attributes(steps[place + 1 :])))
        elif step.opname == "IMPORT_NAME":
            module = _absolute(step.argval, steps[place - 2].argval, package)
            imports.add(module)
        elif step.opname == "IMPORT_FROM":
            imports.add(f"{module}.{step.argval}")


def _attributes(steps: list[dis.Instruction]) -> list[str]:
    path = []
    for step in steps:
        if step.opname == "CACHE":
            continue
        if step.opname not in _ATTRIBUTE:
            break
        path.append(step.argval)
    return path


def _absolute(name: str, level: object, package: str) -> str:
    if not isinstance(level, int) or level == 0:
        return name
    base = package.rsplit(".", level - 1)[0] if level > 1 else package
    return f"{base}.{name}" if name else base


def _all_code(code: types.CodeType) -> list[types.CodeType]:
    inner = [item for item in code.co_consts if isinstance(item, types.CodeType)]
    return [code, *(deeper for item in inner for deeper in _all_code(item))]
