"""Sessions in an S3 store: run, checked and replayed there."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.formats.zon import write_zon


@pytest.fixture
def url(moto: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {
        "AWS_ENDPOINT_URL": moto.endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest",
        "AWS_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return f"s3://{moto.bucket}/agent-sessions"


def test_a_session_in_s3_is_run_and_checked(workplace: Path, honest: ModuleType, assay: Any, url: str) -> None:
    honest.make_fixture(workplace / "fixture")
    (workplace / "script.json").write_text(json.dumps([{"text": "Nothing to do."}]))
    spec = {
        "schema": "chock.eval", "version": 1, "name": "sum", "task": "Mend it.", "fixture": "fixture",
        "provider": "scripted", "model": "script.json", "capture": "capture.json",
        "tests": [{"name": "unit", "argv": ["sh", "tests/unit.sh"]}],
    }  # fmt: skip
    (workplace / "sum.zon").write_text(write_zon(spec))
    ran = assay("eval", "run", "sum.zon", "--store", url, "--format", "json")
    assert ran.code == 0, ran.err
    said = assay("eval", "check", "sum.zon", "--session", ran.json["session"], "--store", url, "--format", "json")
    assert said.code == 0, said.err
    assert said.json["session"] == ran.json["session"]
    assert assay("eval", "replay", "sum.zon", "--store", url, "--format", "json").code == 0
