"""Tests that need namespaces are skipped, with the reason, where the platform forbids them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pipeline.errors import SandboxError
from pipeline.sandbox import CommandOutcome, SandboxedCommand, run_sandboxed


@cache
def _why_not() -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            run_sandboxed(SandboxedCommand(("true",), Path(folder)))
        except SandboxError as error:
            return str(error)
    return ""


@pytest.fixture
def sandbox() -> None:
    """Skips where there is none."""
    if _why_not():
        pytest.skip(_why_not())


@pytest.fixture
def shell(sandbox: None, tmp_path: Path) -> Callable[..., CommandOutcome]:
    """Runs a line of shell in a sandbox over an empty folder."""
    tree = tmp_path / "tree"
    tree.mkdir()

    def run(text: str, **settings: object) -> CommandOutcome:
        command = SandboxedCommand(("sh", "-c", text), tree, timeout_s=20.0)
        return run_sandboxed(command._replace(**settings))

    return run
