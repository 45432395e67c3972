"""A log for a store elsewhere: the lines that are whole are copied while it is written, all of it at the end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.session.log_mirror import mirrored_log
from pipeline.store import Store

KEY = "sessions/01J0000000/log.jsonl"


def until(found: object, store: Store) -> None:
    deadline = time.monotonic() + 10
    while not (store.exists(KEY) and store.read(KEY) == found):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_whole_lines_are_there_while_the_log_is_written(tmp_path: Path) -> None:
    store, path = Store("memory://mirrored"), tmp_path / "log.jsonl"
    with mirrored_log(store, KEY, path, every_s=0.02):
        path.write_bytes(b"one\ntwo")
        until(b"one\n", store)
        path.write_bytes(b"one\ntwo\nthree\n")
        until(b"one\ntwo\nthree\n", store)
        path.write_bytes(b"one\ntwo\nthree\nfour\n")
    assert store.read(KEY) == b"one\ntwo\nthree\nfour\n"


def test_a_log_that_was_never_begun_leaves_nothing(tmp_path: Path) -> None:
    store = Store("memory://mirrored-nothing")
    with mirrored_log(store, KEY, tmp_path / "log.jsonl", every_s=0.02):
        time.sleep(0.1)
    assert not store.exists(KEY)


def test_a_copy_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, path = Store("memory://mirrored-again"), tmp_path / "log.jsonl"
    put, failures = store.put, [1, 2]

    def sometimes(key: str, data: bytes | Path) -> None:
        if failures:
            failures.pop()
            raise StoreError("not now")
        put(key, data)

    monkeypatch.setattr(store, "put", sometimes)
    with mirrored_log(store, KEY, path, every_s=0.02):
        path.write_bytes(b"one\n")
        until(b"one\n", store)
    assert failures == []
