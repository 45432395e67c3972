"""The scripts of `benchmarks/` import each other by name, as they do when they are run."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def beside(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module
