"""Public names: what `import pipeline` gives, and what no function may be called."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import pipeline
import pipeline.errors

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for folder in ("pipeline", "scorers") for path in (ROOT / folder).rglob("*.py"))
FOLDERS = {path.parent.name for path in SOURCES} | {"tests", "configs", "notebooks", "benchmarks"}

DOCUMENTED = {
    "ConcurrencyPolicy", "DatasetClient", "DatasetRevisionRef", "Evaluation", "EvaluationClient", "EvaluationRun",
    "EvaluationRunStatus", "EvaluationScorer", "EvaluationScorerResult", "EvaluationSuite", "RateLimitPolicy",
    "RemoteFunction", "RetryPolicy", "Scores", "Secret", "Store", "from_ray_dataset", "function",
    "iter_results", "read_results", "report_units", "result_files", "score", "scorers",
}  # fmt: skip


def test_the_public_names_are_the_documented_ones_and_all_errors() -> None:
    errors = {name for name in vars(pipeline.errors) if name.endswith("Error") and not name.startswith("_")}
    assert set(pipeline.__all__) == DOCUMENTED | errors
    assert len(pipeline.__all__) == len(set(pipeline.__all__))


@pytest.mark.parametrize("name", pipeline.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(pipeline, name) is not None
    assert name in dir(pipeline)


def test_type_checkers_are_told_the_same_names() -> None:
    tree = ast.parse((ROOT / "pipeline" / "__init__.py").read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    told = {
        alias.asname for node in guarded.body if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    }
    assert told == set(pipeline.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'evaluate'"):
        pipeline.evaluate  # noqa: B018


def test_no_public_function_bears_a_folders_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in SOURCES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in FOLDERS
    ]
    assert found == []


def test_no_module_is_named_after_nothing() -> None:
    vague = re.compile(r"utils?|helpers?|common|misc|managers?")
    assert [str(path) for path in SOURCES if any(vague.fullmatch(part) for part in path.stem.split("_"))] == []


def test_every_folder_has_a_readme() -> None:
    folders = {path.parent for path in SOURCES} | {
        ROOT / name for name in ("configs", "notebooks", "tests", "benchmarks")
    }
    assert [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "README.md").is_file()] == []
    assert [str(readme) for readme in ROOT.glob("*/README.md") if not readme.read_text().strip()] == []


def test_there_is_no_package_below_tests() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []
