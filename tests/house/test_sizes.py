"""Small rooms: no long function, no long file, unless a reason stands beside the exemption."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FUNCTION_LIMIT = 50  # lines of code; about 25 is what STYLE asks for
FILE_LIMIT = 300  # lines of code; about 150 is what STYLE asks for

EXEMPT: dict[str, str] = {}
"""`path` or `path:function` → the reason why it may be longer."""

FILES = sorted(path for folder in ("pipeline", "scorers") for path in (ROOT / folder).rglob("*.py"))


def code_lines(source: str) -> set[int]:
    """The numbers of the lines that hold code: no blank lines, comments or docstrings."""
    lines: set[int] = set()
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in layout:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def too_long(path: Path, source: str) -> list[str]:
    lines = code_lines(source)
    found = [f"{path}: {len(lines)} lines of code"] if len(lines) > FILE_LIMIT and str(path) not in EXEMPT else []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = len(lines & set(range(node.lineno, (node.end_lineno or node.lineno) + 1)))
            if size > FUNCTION_LIMIT and f"{path}:{node.name}" not in EXEMPT:
                found.append(f"{path}:{node.name}: {size} lines of code")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_and_files_stay_small(path: Path) -> None:
    assert too_long(path.relative_to(ROOT), path.read_text(encoding="utf-8")) == []


def test_a_long_function_and_a_long_file_are_found() -> None:
    body = "".join(f"    x{i} = {i}\n" for i in range(51))
    assert too_long(Path("a.py"), f"def f():\n{body}") == ["a.py:f: 52 lines of code"]
    assert too_long(Path("a.py"), "x = 1\n" * 301) == ["a.py: 301 lines of code"]


def test_docstrings_comments_and_blank_lines_do_not_count() -> None:
    source = '"""One.\n\nTwo.\n"""\n\n# three\nx = 1  # four\nTEXT = """\nfive\n"""\n'
    assert code_lines(source) == {7, 8, 9, 10}


def test_exempt_places_exist() -> None:
    assert [place for place in EXEMPT if not (ROOT / place.split(":")[0]).is_file()] == []
