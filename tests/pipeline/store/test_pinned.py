import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import CorruptError
from pipeline.store import RevisionReader, known_digests, learn_digests, pin_files
from pipeline.store import pinned as pinned_files


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3]}), path)
    return path


@pytest.fixture
def digested(monkeypatch):
    """The paths that are read for their digest, in a process that knows none yet."""
    monkeypatch.setattr(pinned_files, "_digests", {})
    seen, honest = [], pinned_files.open_input
    monkeypatch.setattr(pinned_files, "open_input", lambda path: seen.append(path) or honest(path))
    return seen


def test_what_the_driver_digested_is_not_digested_by_every_worker(file, digested, monkeypatch):
    revision = pin_files([file])
    known = known_digests(revision)
    monkeypatch.setattr(pinned_files, "_digests", {})
    learn_digests(known)
    assert RevisionReader(None, revision).read(0, 3)["n"].to_pylist() == [1, 2, 3]
    assert digested == [str(file)]


def test_a_file_put_in_the_place_of_a_digested_one_is_found_though_size_and_time_are_the_same(file, digested):
    revision = pin_files([file])
    learn_digests(known_digests(revision))
    stat, other = file.stat(), file.with_suffix(".other")
    shutil.copy(file, other)
    data = bytearray(other.read_bytes())
    data[6] ^= 1
    other.write_bytes(data)
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    os.replace(other, file)
    with pytest.raises(CorruptError, match="has changed since it was pinned"):
        RevisionReader(None, revision).read(0, 3)
