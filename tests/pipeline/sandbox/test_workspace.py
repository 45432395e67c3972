"""Trees of their own: exactly what was committed or copied, and gone afterwards."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import subprocess
from pathlib import Path

import pytest
from attacks_outside import _git, repository

from pipeline.errors import InputError, WorkspaceError
from pipeline.sandbox import list_beneath, read_beneath, resolve_commit, restore_files, workspace_copy, workspace_of
from pipeline.sandbox.workspace import replace_tree


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    repository(tmp_path / "fixture")
    return tmp_path / "fixture"


def paths(tree: Path) -> list[str]:
    return [entry.path for entry in list_beneath(tree) if entry.kind != "folder"]


def test_every_way_to_name_a_commit_gives_its_full_id(fixture: Path) -> None:
    commit = _git(fixture, "rev-parse", "HEAD")
    _git(fixture, "tag", "plain")
    _git(fixture, "tag", "--annotate", "--message", "x", "noted")
    _git(fixture, "branch", "feature/other")
    names = [
        "HEAD",
        "main",
        "plain",
        "noted",
        "refs/tags/noted",
        "refs/heads/main",
        commit,
        commit[:8],
        "feature/other",
    ]
    assert {resolve_commit(fixture, name) for name in names} == {commit}
    _git(fixture, "pack-refs", "--all")
    _git(fixture, "gc", "--quiet")
    assert {resolve_commit(fixture, name) for name in names} == {commit}
    (fixture / "main.py").write_text("x = 2\n")
    _git(fixture, "commit", "--quiet", "--all", "--message", "two")
    assert resolve_commit(fixture, "HEAD~1") == commit
    assert resolve_commit(fixture, "noted") == commit
    assert resolve_commit(fixture) != commit


def test_a_detached_head_a_worktree_and_a_bare_repository_are_read(fixture: Path, tmp_path: Path) -> None:
    commit = _git(fixture, "rev-parse", "HEAD")
    _git(fixture, "checkout", "--quiet", "--detach")
    assert resolve_commit(fixture) == commit
    _git(fixture, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert resolve_commit(tmp_path / "linked") == commit
    _git(fixture, "clone", "--quiet", "--bare", str(fixture), str(tmp_path / "bare"))
    with workspace_of(tmp_path / "bare") as made:
        assert made.base_commit == commit
        assert "main.py" in paths(made.path)


def test_a_repository_of_sha256_is_read(tmp_path: Path) -> None:
    _git(tmp_path, "init", "--quiet", "--object-format=sha256")
    (tmp_path / "a").write_text("a")
    _git(tmp_path, "add", "a")
    _git(tmp_path, "commit", "--quiet", "--message", "one")
    assert resolve_commit(tmp_path) == _git(tmp_path, "rev-parse", "HEAD")


@pytest.mark.parametrize("name", ["nowhere", "0" * 40, "HEAD~7", "HEAD^{tree}", "main:main.py"])
def test_a_commit_that_is_not_there_is_told(fixture: Path, name: str) -> None:
    with pytest.raises(WorkspaceError, match=r"is no commit of .*expected a branch, a tag or a commit id"):
        resolve_commit(fixture, name)


@pytest.mark.parametrize("name", ["", "-x", "--all", "a\0b", "a\nb"])
def test_what_is_no_revision_is_refused(fixture: Path, name: str) -> None:
    with pytest.raises(InputError, match="is no revision"):
        resolve_commit(fixture, name)


def test_an_empty_repository_and_a_missing_folder_are_told(tmp_path: Path) -> None:
    _git(tmp_path, "init", "--quiet")
    with pytest.raises(WorkspaceError, match="'HEAD' is no commit"):
        resolve_commit(tmp_path)
    with pytest.raises(WorkspaceError, match="is no folder"):
        resolve_commit(tmp_path / "nowhere")


def test_a_fixture_without_git_is_copied_and_has_no_commit(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    assert resolve_commit(tmp_path) is None
    with pytest.raises(WorkspaceError, match="is no git repository, so that base_commit 'v1' names nothing"):
        resolve_commit(tmp_path, "v1")
    with workspace_of(tmp_path) as made:
        assert (made.base_commit, paths(made.path)) == (None, ["a"])


def test_a_tree_is_the_commit_to_the_byte(fixture: Path) -> None:
    (fixture / "main.py").write_text("changed and not committed\n")
    (fixture / "untracked").write_text("x")
    (fixture / "run.sh").write_bytes(b"#!/bin/sh\r\n")
    (fixture / "run.sh").chmod(0o755)
    os.symlink("main.py", fixture / "link")
    (fixture / "name with \xe4 and \n").write_text("x")
    _git(fixture, "-c", "core.autocrlf=false", "add", "run.sh", "link", "name*")
    _git(fixture, "commit", "--quiet", "--message", "two")
    with workspace_of(fixture) as made:
        assert read_beneath(made.path, "main.py") == b"x = 1\n"
        assert read_beneath(made.path, "README.md") == b"$Id$\n"  # neither keywords nor line ends are changed
        assert os.access(made.path / "run.sh", os.X_OK)
        assert os.readlink(made.path / "link") == "main.py"
        assert not (made.path / "untracked").exists()
        assert not (made.path / ".git").exists()
        assert "name with \xe4 and \n" in paths(made.path)


def test_submodules_are_empty_folders_and_pointers_of_lfs_stay_pointers(fixture: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 9\n"
    (fixture / "large.bin").write_text(pointer)
    _git(fixture, "add", "large.bin")
    _git(fixture, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    _git(fixture, "commit", "--quiet", "--message", "two")
    with workspace_of(fixture) as made:
        assert os.listdir(made.path / "module") == []
        assert read_beneath(made.path, "large.bin").decode() == pointer


def test_each_use_has_a_tree_of_its_own_which_goes_with_its_block(fixture: Path) -> None:
    with workspace_of(fixture) as one, workspace_of(fixture) as two:
        (one.path / "main.py").write_text("changed")
        assert read_beneath(two.path, "main.py") == b"x = 1\n"
    assert not one.path.exists()
    assert not two.path.exists()
    assert _git(fixture, "status", "--porcelain") == ""


def test_objects_that_are_missing_are_told(fixture: Path) -> None:
    blob = _git(fixture, "rev-parse", "HEAD:main.py")
    (fixture / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(WorkspaceError, match=r"the object [0-9a-f]{40} of 'main.py' is missing"), workspace_of(fixture):
        pass


def test_a_copy_holds_what_is_there_without_git_and_without_pipes(fixture: Path) -> None:
    (fixture / "untracked").write_text("x")
    os.mkfifo(fixture / "pipe")
    os.symlink("/etc/passwd", fixture / "link")
    with workspace_copy(fixture) as copy:
        assert paths(copy.path) == [".gitattributes", "README.md", "link", "main.py", "tests/test_main.py", "untracked"]
        assert os.readlink(copy.path / "link") == "/etc/passwd"


def agents_tree(tree: Path) -> None:
    """Tests that were made easy: changed, added, replaced by links."""
    (tree / "tests" / "test_main.py").write_text("pass\n")
    (tree / "tests" / "conftest.py").write_text("import os; os._exit(0)\n")
    (tree / "tests" / "deep").mkdir()
    (tree / "tests" / "deep" / "x.py").write_text("x")
    (tree / "main.py").write_text("x = 2\n")


@pytest.mark.parametrize("globs", [["tests"], ["tests/"], ["tests/**"], ["tests/*", "*.md"]])
def test_files_that_judge_are_put_back_and_what_was_added_among_them_goes(fixture: Path, globs: list[str]) -> None:
    commit = str(resolve_commit(fixture))
    agents_tree(fixture)
    with workspace_copy(fixture) as copy:
        restored = restore_files(copy.path, fixture, commit, globs)
        assert "tests/test_main.py" in restored
        assert paths(copy.path) == [".gitattributes", "README.md", "main.py", "tests/test_main.py"]
        assert read_beneath(copy.path, "tests/test_main.py") == b"assert True\n"
        assert read_beneath(copy.path, "main.py") == b"x = 2\n"
    assert (fixture / "tests" / "conftest.py").exists()


@pytest.mark.parametrize(
    "glob, is_met",
    [
        ("tests/test_*.py", True),
        ("**/test_*.py", True),
        ("tests/**/test_main.py", True),
        ("*/test_main.py", True),
        ("*/*/test_main.py", False),
        ("test_*.py", False),
        ("tests/test_mai?.py", True),
        ("tests/test_main", False),
    ],
)
def test_globs_are_over_whole_paths(fixture: Path, glob: str, is_met: bool) -> None:
    commit = str(resolve_commit(fixture))
    unmet = contextlib.nullcontext() if is_met else pytest.raises(WorkspaceError, match=f"matches '{re.escape(glob)}'")
    with workspace_copy(fixture) as copy, unmet:
        assert ("tests/test_main.py" in restore_files(copy.path, fixture, commit, ["*.md", glob])) == is_met


@pytest.mark.parametrize("in_the_way", ["folder", "link", "file"])
def test_what_stands_in_the_way_of_a_file_that_judges_is_removed(
    fixture: Path, tmp_path: Path, in_the_way: str
) -> None:
    commit = str(resolve_commit(fixture))
    subprocess.run(["rm", "-r", fixture / "tests"], check=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if in_the_way == "folder":
        (fixture / "tests" / "test_main.py").mkdir(parents=True)
    elif in_the_way == "link":
        os.symlink(elsewhere, fixture / "tests")
    else:
        (fixture / "tests").write_text("x")
    with workspace_copy(fixture) as copy:
        restore_files(copy.path, fixture, commit, ["tests/test_main.py"])
        assert read_beneath(copy.path, "tests/test_main.py") == b"assert True\n"
    assert os.listdir(elsewhere) == []


def test_without_git_the_reason_is_told(fixture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WorkspaceError, match="git is not installed"):
        resolve_commit(fixture)


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_what_a_command_left_takes_the_place_of_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_elsewhere: bool
) -> None:
    left, target = tmp_path / "left", tmp_path / "target"
    (left / "a" / "b").mkdir(parents=True)
    (left / "a" / "b" / "new").write_text("new")
    (left / "link").symlink_to("a")
    (target / "a").mkdir(parents=True)
    (target / "a" / "old").write_text("old")
    rename = os.rename

    def across_disks(source: Path, to: Path) -> None:
        if Path(source).parent.name == "tree":
            raise OSError(errno.EXDEV, "other disk")
        rename(source, to)

    if is_elsewhere:
        monkeypatch.setattr(os, "rename", across_disks)
    found = os.open(left, os.O_RDONLY)
    try:
        replace_tree(found, target)
    finally:
        os.close(found)
    assert [str(path.relative_to(target)) for path in sorted(target.rglob("*"))] == ["a", "a/b", "a/b/new", "link"]
    assert (target / "a/b/new").read_text() == "new"
    assert os.readlink(target / "link") == "a"
