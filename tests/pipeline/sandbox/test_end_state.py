"""What a session changed: a patch that leads to the same tree again, and nowhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import WorkspaceError
from pipeline.sandbox import change_of, changed_workspace, workspace_of


class Place:
    """A fixture with a commit, and a tree that began there."""

    def __init__(self, folder: Path, honest: ModuleType) -> None:
        self.fixture, self.tree = folder / 'fix:"ture', folder / "tree"
        self.commit = honest.make_fixture(self.fixture)
        shutil.copytree(self.fixture, self.tree, ignore=shutil.ignore_patterns(".git"))


@pytest.fixture
def place(tmp_path: Path, honest: ModuleType) -> Place:
    return Place(tmp_path, honest)


def contents(folder: Path) -> Mapping[str, tuple[str, bytes]]:
    """Path → kind and bytes, of all that git can hold."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder)).decode("utf-8", "surrogateescape")
        if path.is_symlink():
            found[name] = ("link", os.fsencode(os.readlink(path)))
        elif path.is_file():
            found[name] = ("program" if os.access(path, os.X_OK) else "file", path.read_bytes())
    return found


def test_a_patch_leads_to_the_tree_that_the_session_left(place: Place) -> None:
    (place.tree / "src" / "sum.sh").write_text("other\n")
    (place.tree / "tests" / "unit.sh").unlink()
    (place.tree / "binary").write_bytes(bytes(range(256)) * 40)
    (place.tree / "run").write_text("#!/bin/sh\n")
    (place.tree / "run").chmod(0o755)
    (place.tree / "out").symlink_to("/etc/passwd")
    odd = place.tree / os.fsdecode(b'a "b\n\xff')
    odd.mkdir()
    (odd / "é").write_text("no line feed at the end")
    change = change_of(place.fixture, place.commit, place.tree)
    with changed_workspace(place.fixture, place.commit, change.patch, change.end_tree) as found:
        assert contents(found.path) == contents(place.tree)
        assert found.base_commit == place.commit


def test_nothing_changed_is_an_empty_patch(place: Place) -> None:
    change = change_of(place.fixture, place.commit, place.tree)
    assert (change.patch, change.base_tree) == (b"", change.end_tree)
    with changed_workspace(place.fixture, place.commit, b"", change.end_tree) as found:
        assert contents(found.path) == contents(place.tree)


def test_a_fixture_without_git_is_compared_as_it_is(place: Place, tmp_path: Path) -> None:
    plain, left = tmp_path / "plain", tmp_path / "left"
    shutil.copytree(place.tree, plain)
    shutil.copytree(place.tree, left)
    (left / "new").write_text("new\n")
    change = change_of(plain, None, left)
    with changed_workspace(plain, None, change.patch, change.end_tree) as found:
        assert contents(found.path) == contents(left)
    (plain / "src" / "sum.sh").write_text("another fixture\n")
    with (
        pytest.raises(WorkspaceError, match="leads to tree"),
        changed_workspace(plain, None, change.patch, change.end_tree),
    ):
        pass


def test_the_fixture_gains_no_object(place: Place) -> None:
    before = sorted(path.name for path in (place.fixture / ".git").rglob("*"))
    (place.tree / "new").write_text("new\n")
    change = change_of(place.fixture, place.commit, place.tree)
    with changed_workspace(place.fixture, place.commit, change.patch):
        assert sorted(path.name for path in (place.fixture / ".git").rglob("*")) == before


def test_nothing_that_an_agent_configures_is_run(place: Place, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    subprocess.run(["git", "init", "--quiet"], cwd=place.tree, check=True)
    for key in ("filter.x.clean", "filter.x.smudge", "core.fsmonitor", "diff.x.textconv", "diff.external"):
        subprocess.run(["git", "config", key, f"touch {mark}"], cwd=place.tree, check=True)
    (place.tree / ".gitattributes").write_text("* filter=x diff=x\n")
    (place.tree / ".gitignore").write_text("hidden\n")
    (place.tree / "hidden").write_text("kept all the same\n")
    change = change_of(place.fixture, place.commit, place.tree)
    assert not mark.exists()
    with changed_workspace(place.fixture, place.commit, change.patch) as found:
        assert (found.path / "hidden").read_text() == "kept all the same\n"
        assert not (found.path / ".git").exists()
    assert not mark.exists()


NEW_FILE = b"diff --git a/%b b/%b\nnew file mode %b\n--- /dev/null\n+++ b/%b\n@@ -0,0 +1 @@\n+x\n"


@pytest.mark.parametrize("path", [b"../out", b".git/hooks/post-checkout", b"a/../../out", b"/tmp/out", b"sub/.GIT/x"])
def test_a_patch_that_leaves_the_tree_is_refused(place: Place, tmp_path: Path, path: bytes) -> None:
    patch = NEW_FILE % (path, path, b"100644", path)
    with (
        pytest.raises(WorkspaceError, match=r"does not fit|not safe"),
        changed_workspace(place.fixture, place.commit, patch),
    ):
        pass
    assert not (tmp_path / "out").exists()


def test_a_patch_cannot_write_through_a_link_that_it_makes(place: Place, tmp_path: Path) -> None:
    target = os.fsencode(tmp_path)
    link = b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+%b\n" % target
    patch = link + b"\\ No newline at end of file\n" + NEW_FILE % (b"l/out", b"l/out", b"100644", b"l/out")
    with pytest.raises(WorkspaceError), changed_workspace(place.fixture, place.commit, patch):
        pass
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("patch", [b"\0\xff junk", b"diff --git a/x b/x\n", b"--- a/src/sum.sh\n+++ b/src/sum.sh\n"])
def test_a_patch_that_is_none_is_refused(place: Place, patch: bytes) -> None:
    with (
        pytest.raises(WorkspaceError, match="does not fit"),
        changed_workspace(place.fixture, place.commit, patch),
    ):
        pass


def test_a_commit_that_is_not_there_is_told(place: Place) -> None:
    with pytest.raises(WorkspaceError, match="is no commit of"):
        change_of(place.fixture, "0" * 40, place.tree)


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=12)


@given(files=st.dictionaries(NAMES, st.binary(max_size=200), max_size=5))
def test_whatever_a_session_writes_comes_back(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, honest: ModuleType
) -> None:
    place = Place(tmp_path_factory.mktemp("place"), honest)
    for name, data in files.items():
        if name not in (".", "..", "src", "tests"):
            (place.tree / f"f{name}").write_bytes(data)
    with workspace_of(place.fixture, place.commit) as begun:
        change = change_of(place.fixture, place.commit, place.tree)
        assert (change.patch == b"") == (contents(begun.path) == contents(place.tree))
    with changed_workspace(place.fixture, place.commit, change.patch, change.end_tree) as found:
        assert contents(found.path) == contents(place.tree)
