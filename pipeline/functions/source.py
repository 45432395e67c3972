"""The source text of a function or class, if it can be had and is the one that runs; else a digest of its code."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from typing import Any

from pipeline.records.digest import digest_json

OWN_DECORATOR = "function"  # `@function`, `@pipeline.function`: its options are looked at by themselves
_FUTURES = 0x1FE0000  # the flags of `from __future__` in co_flags, which `compile` takes


def function_source(function: types.FunctionType) -> str | None:
    """The dedented source from `def` on, without our own decorator; None if there is none or another one.

    A file edited after it was loaded, or a console without history, would give a text that is not what runs: the text
    is compiled and its code compared.
    """
    node, lines = _definition(function.__code__)
    if node is None:
        return None
    text = _without_own_decorator(node, lines)
    bare = "\n".join(lines[node.lineno - 1 : node.end_lineno])
    return text if _compiles_to(bare, function.__code__) else None


def class_source(cls: type) -> str | None:
    """The dedented source of a class; None if there is none."""
    try:
        return textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError, IndentationError):
        return None


def code_digest(code: types.CodeType) -> str:
    """A digest of what code does: no file name, no line numbers, no order of set constants."""
    return digest_json(_code_json(code))


def _code_json(code: types.CodeType) -> list[Any]:
    names = [list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]), list(code.co_names)]
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & 0xEF]
    return [code.co_code.hex(), names, counts, [_constant(item) for item in code.co_consts]]


def _constant(item: Any) -> Any:
    if isinstance(item, types.CodeType):
        return _code_json(item)
    if isinstance(item, tuple | frozenset):
        parts = [_constant(part) for part in item]
        return [type(item).__name__, *(sorted(parts, key=repr) if isinstance(item, frozenset) else parts)]
    return [type(item).__name__, repr(item)]


def _definition(code: types.CodeType) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | None, list[str]]:
    try:
        lines = textwrap.dedent(inspect.getsource(code)).splitlines()
        node = ast.parse("\n".join(lines)).body[0]
    except (OSError, TypeError, SyntaxError, IndexError, ValueError):
        return None, []
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != code.co_name:
        return None, []
    return node, lines


def _without_own_decorator(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> str:
    kept: list[str] = []
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", None)
        if name != OWN_DECORATOR:
            kept.append(f"@{ast.unparse(decorator)}")
    return "\n".join([*kept, *lines[node.lineno - 1 : node.end_lineno]]) + "\n"


def _compiles_to(source: str, code: types.CodeType) -> bool:
    """Whether the text gives this code, names of an enclosing function being closed over as in the original."""
    free = code.co_freevars
    wrapped = [f"def enclosing({', '.join(free)}):", textwrap.indent(source, " ")] if free else [source]
    try:
        module = compile("\n".join(wrapped), "<source>", "exec", flags=code.co_flags & _FUTURES, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return any(code_digest(found) == code_digest(code) for found in _nested(module) if found.co_name == code.co_name)


def _nested(code: types.CodeType) -> list[types.CodeType]:
    inner = [item for item in code.co_consts if isinstance(item, types.CodeType)]
    return inner + [deeper for item in inner for deeper in _nested(item)]
