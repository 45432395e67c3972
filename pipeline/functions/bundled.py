"""Modules by their source: the user's neighbours that travel inside a payload, and their import in a worker."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterable, Sequence

from pipeline.functions.neighbours import neighbour_source

Bundle = dict[str, tuple[str, bool]]
"""Module name → source text, and whether it is a package."""


def with_imports(names: Iterable[str]) -> Bundle:
    """The sources of these modules, of their packages, and of the neighbours that they import in turn."""
    bundle: Bundle = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        found = neighbour_source(name) if name not in bundle else None
        if found is None:
            continue
        bundle[name] = found
        parent = name.rpartition(".")[0]
        waiting += [parent] if parent else []
        waiting += _imported(found[0], name if found[1] else parent)
    return dict(sorted(bundle.items()))


def install_bundle(bundle: Bundle) -> None:
    """Make the modules importable in this process. One that is there already stays."""
    if bundle:
        sys.meta_path.insert(0, _BundleFinder(bundle))


def _imported(source: str, package: str) -> list[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, package)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [name for name in names if name]


def _base(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


class _BundleFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds and loads modules of one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: types.ModuleType | None = None, /
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._bundle:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, self, origin="<sent with the function>", is_package=self.is_package(fullname)
        )

    def get_source(self, fullname: str) -> str:
        return self._bundle[fullname][0]

    def is_package(self, fullname: str) -> bool:
        return self._bundle[fullname][1]
