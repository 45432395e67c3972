"""`assay store check`, `assay gc`, `assay doctor`."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest


def test_a_local_store_keeps_the_contract(assay, workplace: Path) -> None:
    said = assay("store", "check", "a store")
    assert said.code == 0, said.out
    assert "FAILED" not in said.out
    assert list((workplace / "a store").iterdir()) == []


def test_a_store_that_cannot_be_written_is_exit_2(assay) -> None:
    said = assay("store", "check", "/proc/nothing", "--json")
    assert said.code == 2
    assert said.json["passed"] is False


def test_garbage_is_shown_first_and_removed_only_when_asked(assay, workplace: Path) -> None:
    assay("dataset", "upload", "qa", "answers.parquet")
    lost = workplace / ".assay" / "datasets" / "qa" / "data" / f"{'0' * 64}.parquet"
    lost.write_bytes(b"lost")
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(lost, (two_days_ago, two_days_ago))
    said = assay("gc")
    assert said.code == 0
    assert "1 objects of 4 bytes would be removed; `assay gc --apply` removes them" in said.out
    assert lost.exists()
    assert [entry["key"] for entry in assay("gc", "--json").json["objects"]] == [f"datasets/qa/data/{lost.name}"]
    assay("gc", "--apply")
    assert not lost.exists()
    assert assay("gc").out.startswith("nothing to remove")
    assert assay("dataset", "read", "qa").code == 0


def test_the_doctor_shows_what_there_is_and_no_secret(assay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    said = assay("doctor")
    assert said.code == 0, said.out
    assert "sk-secret" not in said.out
    found = {entry["what"]: entry for entry in assay("doctor", "--json").json["checks"]}
    assert found["OPENAI_API_KEY"]["detail"] == "set"
    assert found["ray"]["state"] == "ok"
    assert found["Ray cluster"]["state"] == "ok"


def test_the_doctor_finds_a_cluster_that_does_not_answer(assay, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nothing answers
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{taken.getsockname()[1]}")
        said = assay("doctor")
    assert said.code == 2
    assert "nothing answers at RAY_ADDRESS" in said.out


def test_the_doctor_finds_a_store_that_cannot_be_used(assay, workplace: Path) -> None:
    (workplace / "a file").write_text("")
    said = assay("doctor", "--store", "gopher://nowhere")
    assert said.code == 2
    assert "BROKEN" in said.out
