"""What is in a folder and in no commit, without git being run there."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.errors import WorkspaceError
from pipeline.sandbox import Uncommitted, uncommitted_in


@pytest.fixture
def fixture(tmp_path: Path, honest: ModuleType) -> Path:
    folder = tmp_path / "fixture"
    honest.make_fixture(folder)
    return folder


def test_a_folder_as_it_was_committed_has_nothing(fixture: Path) -> None:
    assert uncommitted_in(fixture) == Uncommitted()
    os.utime(fixture / "src" / "sum.sh", (1, 1))
    assert uncommitted_in(fixture).n_paths == 0


def test_new_changed_and_deleted_files_are_told_apart(fixture: Path) -> None:
    script = fixture / "src" / "sum.sh"
    text = script.read_text()
    script.write_text(text.swapcase())  # as many bytes
    (fixture / "tests" / "unit.sh").unlink()
    (fixture / "tests" / "empty.sh").unlink()
    (fixture / "tests" / "empty.sh").symlink_to("unit.sh")
    odd = os.fsdecode(b'a "b\n\xff')
    (fixture / odd).touch()
    found = uncommitted_in(fixture)
    assert found == Uncommitted(new=(odd,), changed=("src/sum.sh", "tests/empty.sh"), deleted=("tests/unit.sh",))
    assert found.n_paths == 4


def test_what_is_ignored_is_left_out(fixture: Path) -> None:
    (fixture / ".gitignore").write_text("*.log\nbuild/\n")
    (fixture / "src" / ".gitignore").write_text("!keep.log\n")
    (fixture / ".git" / "info").mkdir(exist_ok=True)
    (fixture / ".git" / "info" / "exclude").write_text("mine\n")
    (fixture / "build" / "deep").mkdir(parents=True)
    for name in ("a.log", "build/deep/b", "src/keep.log", "mine", "src/new"):
        (fixture / name).touch()
    (fixture / "src" / ".git").mkdir()
    (fixture / "src" / ".git" / ".gitignore").write_text("*\n")  # of a repository in it, which git would not look at
    assert uncommitted_in(fixture).new == (".gitignore", "src/.gitignore", "src/keep.log", "src/new")


def test_a_folder_without_git_and_one_without_a_commit(tmp_path: Path, honest: ModuleType) -> None:
    assert uncommitted_in(tmp_path) == Uncommitted()
    honest.git(tmp_path, "init", "--quiet")
    with pytest.raises(WorkspaceError):
        uncommitted_in(tmp_path)


def test_a_program_that_the_repository_names_is_not_run(fixture: Path, honest: ModuleType, tmp_path: Path) -> None:
    (fixture / ".gitattributes").write_text("* filter=evil\n")
    honest.git(fixture, "config", "filter.evil.clean", f"touch {tmp_path}/ran")
    honest.git(fixture, "config", "core.fsmonitor", f"touch {tmp_path}/ran")
    uncommitted_in(fixture)
    assert not (tmp_path / "ran").exists()
