"""Every file of `configs/` parses, and every config names what is there."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from pipeline.cli.scorer_arguments import scorer_names, scorers_from_config
from pipeline.formats.strict_yaml import parse_yaml
from pipeline.records.run_config import load_run_config

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
FILES = sorted(path for path in CONFIGS.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
RUNS = [path for path in FILES if path.suffix == ".yaml" and b"schema: assay.run\n" in path.read_bytes()]
MADE = {"rows.parquet"}  # by make_rows.py, before they are needed


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_every_file_parses(path: Path) -> None:
    if path.suffix == ".py":
        ast.parse(path.read_text())
    elif path.suffix == ".jsonl":
        assert [json.loads(line) for line in path.read_text().splitlines()]
    elif path.suffix in (".yaml", ".yml"):
        parse_yaml(path.read_bytes(), str(path))
    else:
        assert path.name in {"README.md", ".gitignore", *MADE}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_every_config_of_a_run_names_scorers_that_are_there(path: Path) -> None:
    loaded = load_run_config(path.read_bytes(), str(path))
    names = scorer_names(scorers_from_config(loaded, path.parent))
    assert len(names) == len(loaded.config.scorers)
    assert all((path.parent / text).exists() or text in MADE for text in loaded.config.dataset)
