from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import DeniedError, MissingError, UnavailableError, UnsafeStoreError
from pipeline.store import Store, local_backend
from pipeline.store.commit import LEFTOVER_AGE_S, begin

WRITER = """
import sys
from pathlib import Path
from pipeline.store.local_backend import LocalBackend
backend = LocalBackend(Path(sys.argv[1]))
print("ready", flush=True)
for number in range(10**6):
    data = bytes([number % 251]) * 2_000_000
    backend.put_if_absent(f"create/{number}", data)
    backend.put(f"put/{number % 7}", data, durable=False)
"""


def test_a_killed_writer_never_leaves_a_torn_object(tmp_path):
    rng = random.Random(1)
    n_leftovers = 0
    for round_number in range(12):
        store = Store(tmp_path / str(round_number))
        command = [sys.executable, "-c", WRITER, store.display]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(rng.uniform(0.005, 0.15))
            writer.send_signal(signal.SIGKILL)
        for key in store.list():
            data = store.read(key)
            assert len(data) == 2_000_000, key
            assert len(set(data)) == 1, key
        n_leftovers += len(store.list_leftovers())
    assert n_leftovers, "no kill met a write: the test shows nothing"


def test_a_file_is_put_under_a_second_name_and_that_again_leaves_nothing_behind(tmp_path):
    store, file = Store(tmp_path / "store"), tmp_path / "scratch"
    file.write_bytes(b"rows")
    os.utime(file, (0, 0))
    for _ in range(2):
        store.put("data/x", file)
    [info] = store.list_infos()
    assert info.key == "data/x"
    assert time.time() - info.modified < 60, "gc would take it for an old one that nobody names"
    assert os.path.samefile(tmp_path / "store/data/x", file)
    assert store.list_leftovers() == []
    file.unlink()
    assert store.read("data/x") == b"rows"


def test_a_file_of_another_file_system_is_copied(tmp_path, monkeypatch):
    def link(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    file = tmp_path / "scratch"
    file.write_bytes(b"rows")
    store = Store(tmp_path / "store")
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", link)
        store.put("data/x", file)
    file.unlink()
    assert store.read("data/x") == b"rows"
    assert store.list_leftovers() == []


RACER = """
import sys
from pipeline.store import Store
store, mine = Store(sys.argv[1]), sys.argv[2].encode() * 1000
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    print(store.create(f"race/{number}", mine)[:1].decode(), end="", flush=True)
"""


def test_of_racing_processes_exactly_one_creates(tmp_path):
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [
        subprocess.Popen(
            [*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=Path(__file__).parents[3],
        )
        for number in range(6)
    ]  # fmt: skip
    for racer in racers:
        assert racer.stdout is not None
        racer.stdout.readline()
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    stands = [racer.communicate(timeout=60)[0] for racer in racers]
    winners = "".join(Store(tmp_path).read(f"race/{number}")[:1].decode() for number in range(40))
    assert stands == [winners] * 6


def test_a_resume_removes_old_temporary_files_and_leaves_young_ones(tmp_path):
    from test_gc import PLAN

    store = Store(tmp_path)
    begin(store, "runs/r", PLAN)
    for name, age in ((".assay-old.tmp", LEFTOVER_AGE_S + 60), (".assay-young.tmp", 0)):
        path = tmp_path / "runs/r" / name
        path.write_bytes(b"torn")
        os.utime(path, (time.time() - age,) * 2)
    begin(store, "runs/r", PLAN)
    assert [info.key for info in store.list_leftovers()] == ["runs/r/.assay-young.tmp"]


def test_a_writer_whose_temporary_file_was_removed_writes_it_again(tmp_path, monkeypatch):
    honest, calls = os.link, []

    def link(source, target):
        calls.append(source)
        if len(calls) == 1:
            os.unlink(source)
        honest(source, target)

    monkeypatch.setattr(os, "link", link)
    assert Store(tmp_path).create("a/b", b"x") == b"x"
    assert len(calls) == 2


def failing_with(code):
    def fail(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize(
    "code, kind, message",
    [
        (errno.ENOSPC, UnavailableError, "the disk is full; free some space, then run the same command again"),
        (errno.EDQUOT, UnavailableError, "the disk quota is used up"),
        (errno.EROFS, DeniedError, "the file system is read-only; use another folder"),
        (errno.EACCES, DeniedError, "no access; check the credentials and the permissions"),
        (errno.EIO, UnavailableError, "Input/output error; tried"),
        (errno.EMFILE, UnavailableError, "too many files are open; raise the limit"),
    ],
)
def test_a_fault_of_the_disk_is_named_and_nothing_torn_is_seen(tmp_path, monkeypatch, code, kind, message):
    monkeypatch.setattr(local_backend.os, "fsync", failing_with(code))
    store = Store(tmp_path, timeout_s=1)
    with pytest.raises(kind, match=message):
        store.create("x", b"data")
    with pytest.raises(kind, match=message):
        store.put("x", b"data")
    monkeypatch.undo()
    assert (store.list(), store.list_leftovers()) == ([], [])


def test_a_file_system_without_hard_links_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", failing_with(errno.EOPNOTSUPP))
    with pytest.raises(UnsafeStoreError, match=r"no hard links.*use a folder on another file system"):
        Store(tmp_path / "s").probe()
    assert Store(tmp_path / "s").list_leftovers() == []


def test_a_file_in_the_place_of_the_store_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(DeniedError, match="a file stands where a folder is needed"):
        Store(tmp_path / "file").create("a", b"x")


def test_a_folder_is_no_object(tmp_path):
    Store(tmp_path).put("a/b", b"x")
    with pytest.raises(MissingError, match="is a folder, not an object"):
        Store(tmp_path).read("a")
