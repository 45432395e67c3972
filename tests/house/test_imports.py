"""What an import loads, and whose `scorers` it finds. Each in a Python of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ["duckdb", "fsspec", "pandas", "polars", "pyarrow", "ray"]


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("module", ["pipeline", "scorers", "pipeline.errors", "pipeline.cli"])
def test_an_import_loads_nothing_heavy(module: str, tmp_path: Path) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    result = run_python(code, tmp_path)
    assert (result.returncode, result.stdout.strip()) == (0, "[]"), result.stderr


def test_using_every_public_name_loads_neither_ray_nor_duckdb(tmp_path: Path) -> None:
    code = "import sys\nfrom pipeline import *\nprint([name for name in ('ray', 'duckdb') if name in sys.modules])"
    result = run_python(code, tmp_path)
    assert (result.returncode, result.stdout.strip()) == (0, "[]"), result.stderr


@pytest.mark.parametrize("hidden_by", ["scorers.py", "scorers/__init__.py"])
def test_a_users_own_scorers_is_refused_by_name(hidden_by: str, tmp_path: Path) -> None:
    (tmp_path / hidden_by).parent.mkdir(exist_ok=True)
    (tmp_path / hidden_by).write_text("def mine(output): return 1.0\n")
    result = run_python("import pipeline", tmp_path)
    assert result.returncode == 1
    message = result.stderr.splitlines()[-1]
    assert message.startswith("ImportError: ")
    assert str(tmp_path / hidden_by) in message
    assert "rename it, for example to my_scorers" in message


def test_a_users_scorers_that_is_loaded_already_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "scorers.py").write_text("")
    result = run_python("import scorers\nimport pipeline", tmp_path)
    assert "rename it, for example to my_scorers.py" in result.stderr


def test_a_script_beside_other_files_imports_both_packages(tmp_path: Path) -> None:
    (tmp_path / "my_scorers.py").write_text("")
    (tmp_path / "job.py").write_text("import pipeline, scorers\nprint(pipeline.scorers is scorers)\n")
    result = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.stdout == "True\n", result.stderr
