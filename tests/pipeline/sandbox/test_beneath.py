"""Reads beneath a folder: in one call, and step by step, with the same results."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.errors import InputError, UnsafeFileError, WorkspaceError
from pipeline.sandbox import Kind, beneath, digest_beneath, kind_beneath, list_beneath, read_beneath, write_beneath


@pytest.fixture(params=["at once", "step by step"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "step by step":
        # What a kernel without openat2 gives.
        monkeypatch.setattr(beneath, "_SYS_OPENAT2", 10_000)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"content")
    (tmp_path / "a" / "b" / "file").chmod(0o755)
    os.symlink("file", tmp_path / "a" / "b" / "link")
    os.symlink("b", tmp_path / "a" / "over")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def test_a_file_is_read(tree: Path) -> None:
    assert read_beneath(tree, "a/b/file") == b"content"
    assert digest_beneath(tree, "a/b/file") == hashlib.sha256(b"content").hexdigest()


@pytest.mark.parametrize("path", ["a/b/link", "a/over/file"])
def test_a_link_is_not_followed(tree: Path, path: str) -> None:
    with pytest.raises(UnsafeFileError, match="leads through a link"):
        read_beneath(tree, path)


@pytest.mark.parametrize("path", ["pipe", "a"])
def test_what_is_no_file_is_told(tree: Path, path: str) -> None:
    with pytest.raises(UnsafeFileError, match="is no regular file"):
        read_beneath(tree, path)


@pytest.mark.parametrize("path", ["nowhere", "a/nowhere", "nowhere/a", "a/b/file/c"])
def test_what_is_not_there_is_told(tree: Path, path: str) -> None:
    with pytest.raises(FileNotFoundError):
        read_beneath(tree, path)
    assert kind_beneath(tree, path) is None


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/../a", "a//b", "./a", "a/", "a/.", "a\0b"])
@pytest.mark.parametrize("read", [read_beneath, digest_beneath, kind_beneath])
def test_a_path_that_is_not_plain_is_refused(tree: Path, path: str, read: Callable[[Path, str], object]) -> None:
    with pytest.raises(InputError, match="not relative and plain"):
        read(tree, path)


def test_a_file_that_is_too_large_is_refused(tree: Path) -> None:
    assert read_beneath(tree, "a/b/file", max_bytes=7) == b"content"
    with pytest.raises(WorkspaceError, match="larger than 6 bytes"):
        read_beneath(tree, "a/b/file", max_bytes=6)


def test_kinds_are_told_without_following(tree: Path) -> None:
    found = {path: kind_beneath(tree, path) for path in ("a", "a/b/file", "a/b/link", "a/over", "pipe")}
    assert found == {
        "a": Kind.FOLDER, "a/b/file": Kind.FILE, "a/b/link": Kind.LINK, "a/over": Kind.LINK, "pipe": Kind.OTHER,
    }  # fmt: skip
    with pytest.raises(UnsafeFileError):
        kind_beneath(tree, "a/over/file")


def test_a_list_holds_everything_once_and_follows_nothing(tree: Path) -> None:
    entries = list(list_beneath(tree))
    assert [entry.path for entry in entries] == ["a", "a/b", "a/b/file", "a/b/link", "a/over", "pipe"]
    file = entries[2]
    assert (file.kind, file.size_bytes, file.is_executable, file.n_names) == (Kind.FILE, 7, True, 1)
    assert [entry.path for entry in list_beneath(tree, leave_out=frozenset({"a"}))] == ["pipe"]


def test_a_list_has_an_end(tree: Path) -> None:
    assert len(list(list_beneath(tree, max_files=6))) == 6
    with pytest.raises(WorkspaceError, match="more than 5 files and folders"):
        list(list_beneath(tree, max_files=5))
    with pytest.raises(WorkspaceError, match="deeper than 2 folders"):
        list(list_beneath(tree, max_depth=2))


def test_a_folder_that_is_none_is_told(tree: Path) -> None:
    with pytest.raises(WorkspaceError, match="is no folder that can be read"):
        read_beneath(tree / "pipe", "a")


@pytest.mark.parametrize(
    "path", ["link/file", "link", "dangling", "pipe", "socket", "folder", "../out", "/out", "a/./b"]
)
def test_nothing_is_written_through_a_link_or_into_anything_but_a_file(tmp_path: Path, path: str) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    for folder in (tree, tree / "folder", outside):
        folder.mkdir()
    (outside / "file").write_text("as it was")
    (tree / "link").symlink_to(outside)
    (tree / "dangling").symlink_to(outside / "new")
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tree / "socket"))
    with pytest.raises((InputError, WorkspaceError, FileNotFoundError)):
        write_beneath(tree, path, b"changed")
    assert sorted(os.listdir(outside)) == ["file"]
    assert (outside / "file").read_text() == "as it was"
    assert not (tmp_path / "out").exists()


def test_a_file_is_written_with_the_folders_on_its_way(tmp_path: Path) -> None:
    write_beneath(tmp_path, "a/b/c", b"longer than the next\n")
    write_beneath(tmp_path, "a/b/c", b"short\n")
    assert (tmp_path / "a" / "b" / "c").read_bytes() == b"short\n"
