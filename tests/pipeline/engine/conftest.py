"""The workers of these tests are a module beside them; Ray's processes import it too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_cluster_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.fixture(scope="session")
def local_ray() -> None:
    """Ray started once for the session; every later run of this process finds it."""
    os.environ.pop("RAY_ADDRESS", None)
    from pipeline.engine.cluster import connected

    with connected(None):
        pass
