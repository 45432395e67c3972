"""Every file below configs/ is read by what reads it: a file that no reader knows fails here."""

import ast
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import scorers
from pipeline.records.provider_profile import load_provider_file
from pipeline.records.run_config import FunctionEntry, SqlEntry, load_run_config
from pipeline.records.script import parse_script
from pipeline.session.spec_file import load_spec

CONFIGS = Path(__file__).parents[2] / "configs"
MADE_BY_SCRIPTS = {CONFIGS / "reasoning" / "rows.parquet"}
FILES = sorted(
    path
    for path in CONFIGS.rglob("*")
    if path.is_file() and path not in MADE_BY_SCRIPTS and not {"__pycache__", "fixtures", "captures"} & set(path.parts)
)


def read_run_config(path: Path) -> None:
    config = load_run_config(path.read_bytes(), str(path)).config
    for name in config.dataset:
        assert path.parent / name in MADE_BY_SCRIPTS or (path.parent / name).is_file(), name
    for entry in config.scorers:
        match entry:
            case FunctionEntry(function=function):
                assert_defines(path.parent, function)
            case SqlEntry(sql=sql, name=name):
                scorers.sql(name, sql)
            case _:
                given = {"name": entry.name, "inputs": entry.inputs}
                getattr(scorers, entry.use)(**entry.options, **{key: value for key, value in given.items() if value})
    if config.task is not None:
        assert_defines(path.parent, config.task)


def assert_defines(folder: Path, function: str) -> None:
    file, name = function.rsplit(":", 1)
    tree = ast.parse((folder / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, function


def read_rows(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows
    assert all(set(row) == set(rows[0]) for row in rows)


def read_yaml(path: Path) -> None:
    if path.parent.name == "evals":
        read_spec(path)
    else:
        read_run_config(path)


def read_spec(path: Path) -> None:
    assert load_spec(path, "check").spec.tests


READERS: dict[str, Callable[[Path], object]] = {
    ".yaml": read_yaml,
    ".zon": read_spec,
    ".json": read_spec,
    ".jsonl": read_rows,
    ".py": lambda path: compile(path.read_text(), path, "exec"),
    ".md": Path.read_text,
    ".gitignore": Path.read_text,
}


BY_NAME: dict[str, Callable[[Path], object]] = {
    "assay-providers.yaml": lambda path: load_provider_file(path.read_bytes(), str(path)),
    "rolling_max_script.yaml": lambda path: parse_script(path.read_bytes(), str(path)),
    "rehearsal.yaml": lambda path: parse_script(path.read_bytes(), str(path)),
}
"""Files of other formats than their ending tells."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_a_file_of_configs_is_read(path: Path):
    (BY_NAME.get(path.name) or READERS[path.suffix or path.name])(path)
