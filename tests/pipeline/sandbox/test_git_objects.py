"""Repositories that were tampered with: what stands under an object's name counts only if it is that object."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from attacks_outside import _git as git
from attacks_outside import repository

from pipeline.errors import WorkspaceError
from pipeline.sandbox import resolve_commit, restore_files, workspace_copy, workspace_of


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    repository(tmp_path / "fixture")
    return tmp_path / "fixture"


def place_of(fixture: Path, revision: str) -> Path:
    name = git(fixture, "rev-parse", revision)
    return fixture / ".git" / "objects" / name[:2] / name[2:]


def put(place: Path, kind: str, data: bytes) -> None:
    """Other bytes under the name of an object, in the form that git reads without a complaint."""
    place.chmod(0o644)
    place.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data))


def test_another_file_under_the_name_of_one_that_judges_is_refused(fixture: Path) -> None:
    commit = str(resolve_commit(fixture))
    put(place_of(fixture, "HEAD:tests/test_main.py"), "blob", b"def test(): pass\n")
    with workspace_copy(fixture) as copy, pytest.raises(WorkspaceError, match=r"'tests/test_main\.py' has other bytes"):
        restore_files(copy.path, fixture, commit, ["tests"])
    with pytest.raises(WorkspaceError, match="tampered with"), workspace_of(fixture):
        pass


def test_another_folder_under_the_name_of_one_that_judges_is_refused(fixture: Path) -> None:
    commit, other = str(resolve_commit(fixture)), git(fixture, "rev-parse", "HEAD:main.py")
    put(place_of(fixture, "HEAD:tests"), "tree", b"100644 test_main.py\0" + bytes.fromhex(other))
    with workspace_copy(fixture) as copy, pytest.raises(WorkspaceError, match=r"the folder 'tests/' has other bytes"):
        restore_files(copy.path, fixture, commit, ["tests"])


def test_objects_in_packs_are_looked_at_as_well(fixture: Path) -> None:
    commit, cheat = str(resolve_commit(fixture)), fixture / "tests" / "test_main.py"
    cheat.write_text("def test(): pass\n")
    forged = git(fixture, "hash-object", "-w", str(cheat))
    put(place_of(fixture, "HEAD:tests"), "tree", b"100644 test_main.py\0" + bytes.fromhex(forged))
    git(fixture, "repack", "-a", "-d", "--quiet", "-k")
    with workspace_copy(fixture) as copy, pytest.raises(WorkspaceError):
        restore_files(copy.path, fixture, commit, ["tests"])


@pytest.mark.parametrize("data", [b"junk", b"100644 a", b"100644 a\0short", b"100644 \0" + bytes(20)])
def test_a_damaged_folder_is_told(fixture: Path, data: bytes) -> None:
    put(place_of(fixture, "HEAD:tests"), "tree", data)
    with pytest.raises(WorkspaceError, match="has other bytes"), workspace_of(fixture):
        pass


def test_a_damaged_object_is_told(fixture: Path) -> None:
    place = place_of(fixture, "HEAD:main.py")
    place.chmod(0o644)
    place.write_bytes(b"junk")
    with pytest.raises(WorkspaceError, match=r"'main\.py'"), workspace_of(fixture):
        pass


def test_another_commit_under_the_name_of_the_base_is_refused(fixture: Path) -> None:
    data = git(fixture, "cat-file", "commit", "HEAD") + "\nand more\n"
    put(place_of(fixture, "HEAD"), "commit", data.encode())
    with pytest.raises(WorkspaceError, match=r"'HEAD' is no commit|has other bytes"):
        resolve_commit(fixture)


def test_a_revision_that_names_no_commit_is_none_however_it_is_written(fixture: Path) -> None:
    commit = str(resolve_commit(fixture))
    for revision in (
        f"{commit} commit 1",
        f"{commit} missing",
        f"^{commit}",
        f"{commit}..",
        f"{commit}^{{tree}}",
        "@{u}",
        "HEAD:",
    ):
        with pytest.raises(WorkspaceError, match="is no commit of"):
            resolve_commit(fixture, revision)


def test_files_that_are_too_large_together_are_not_laid_out(fixture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(path.stat().st_size for path in fixture.rglob("*.py"))
    monkeypatch.setattr("pipeline.sandbox.workspace.MAX_TREE_BYTES", size - 1)
    with pytest.raises(WorkspaceError, match="bytes: the tree holds more than is laid out"), workspace_of(fixture):
        pass


def _bytes_without_end(place: Path) -> None:
    os.mkfifo(place)


def _link(place: Path) -> None:
    elsewhere = place.parents[3] / "elsewhere"
    elsewhere.write_bytes(b"")
    place.symlink_to(elsewhere)


@pytest.mark.parametrize("instead, what", [(_bytes_without_end, "no regular file"), (_link, "a link")])
def test_pipes_and_links_among_the_objects_are_refused_at_once(
    fixture: Path, instead: Callable[[Path], None], what: str
) -> None:
    place = place_of(fixture, "HEAD:main.py")
    place.unlink()
    instead(place)
    with pytest.raises(WorkspaceError, match=rf"'objects/../[0-9a-f]{{38}}' is {what}"):
        resolve_commit(fixture)


@pytest.mark.parametrize("name", ["x", "x/y", "a" * 300, "a/" * 3000 + "b"])
def test_branches_that_no_folder_could_hold_do_not_hide_the_others(fixture: Path, name: str) -> None:
    commit = str(resolve_commit(fixture))
    lines = [f"{commit} refs/heads/x\n", f"{commit} refs/heads/x/y\n", f"{commit} refs/heads/{name}\n"]
    (fixture / ".git" / "packed-refs").write_text("".join(lines))
    assert resolve_commit(fixture, "refs/heads/x") == commit


@pytest.mark.parametrize("name", [".git", ".git/commondir"])
def test_nul_in_the_small_files_of_git_is_told(fixture: Path, name: str) -> None:
    place = fixture / name
    if place.is_dir():
        place.rename(fixture / "away")
    place.write_bytes(b"gitdir: a\0b\n")
    with pytest.raises(WorkspaceError, match="lead"):
        resolve_commit(fixture)


def test_a_repository_without_a_head_has_none(fixture: Path) -> None:
    branch = git(fixture, "symbolic-ref", "HEAD")
    git(fixture, "branch", "master", "--force", "HEAD") if branch != "refs/heads/master" else None
    (fixture / ".git" / "HEAD").unlink()
    with pytest.raises(WorkspaceError, match="'HEAD' is no commit"):
        resolve_commit(fixture)


def test_a_relative_fixture_is_read_from_where_the_process_works(
    fixture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = resolve_commit(fixture)
    monkeypatch.chdir(fixture.parent)
    assert resolve_commit(Path("fixture")) == commit
    with workspace_of(Path("fixture")) as made:
        assert (made.path / "main.py").is_file()
    with workspace_copy(Path("fixture")) as copy:
        assert restore_files(copy.path, Path("fixture"), str(commit), ["tests"])
