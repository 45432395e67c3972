"""The files that a spec's test commands name: one that is nowhere makes a command fail whatever the session did."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from pipeline.errors import InputError, WorkspaceError
from pipeline.records.eval_spec import EvalSpec
from pipeline.records.names import nearest
from pipeline.sandbox import commit_paths, kind_beneath, matches_globs
from pipeline.session.spec_file import LoadedSpec

_PATH = re.compile(r"(?:\./)*((?:[\w.+-]+/)*[\w+-][\w.+-]*)(?:::.*)?")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_INTERPRETER = re.compile(r"(?:.*/)?(?:(?:ba|da|z|k)?sh|python[\d.]*|node|ruby|perl)")
_STEPS = frozenset({".", ".."})


def named_files(argv: Sequence[str]) -> Iterator[str]:
    """Arguments that read as relative paths of files: with a folder or a suffix, and without anything of a shell."""
    for argument in argv:
        found = _PATH.fullmatch(argument)
        if found is None or _STEPS.intersection(found[1].split("/")):
            continue
        if "/" in found[1] or _SUFFIX.search(found[1]):
            yield found[1]


def lacks_files(argv: Sequence[str], tree: Path) -> bool:
    """Whether a command names a file that is not in the tree on which it is to be run."""
    return any(_is_absent(tree, path) for path in named_files(argv))


def never_there(argv: Sequence[str], spec: EvalSpec, paths: Collection[str] | None) -> str:
    """Why no session can make a command start: its script is among `test_files`, and the base does not have it.

    Args:
        argv: of the command; only a script that an interpreter is given first is looked at.
        spec: whose `test_files` take away what the base does not have.
        paths: of the base; None: not known.

    Returns:
        Empty: it may start.
    """
    script = next(named_files(argv[1:2]), None)
    if script is None or paths is None or not _INTERPRETER.fullmatch(argv[0]):
        return ""
    if _is_among(script, paths) or not matches_globs(script, spec.test_files):
        return ""
    return (
        f"{script!r} is not there in the fixture, and no session can make it, for test_files are those of base_commit"
        f"{_hint(script, paths)}"
    )


def absent_files(argv: Sequence[str], tree: Path, paths: Collection[str] | None) -> str:
    """What to tell of the files that a command names and does not find; empty: nothing.

    Args:
        argv: of a command that has failed.
        tree: on which it was run.
        paths: of the base; None: not known.
    """
    absent = [path for path in named_files(argv) if _is_absent(tree, path)]
    if not absent:
        return ""
    path = absent[0]
    if paths is None:
        return f"argv names {path!r}, which is not there"
    if _is_among(path, paths):
        return f"argv names {path!r}, which is in the fixture and no longer there: the session took it away"
    return (
        f"argv names {path!r}, which is not there, in the fixture neither: "
        f"unless the session was to make it, the spec is misspelt{_hint(path, paths)}"
    )


def check_before_run(loaded: LoadedSpec, project: Path | None, *, skip_tests: bool) -> Iterator[str]:
    """Refuse a spec whose tests no session could pass, before a model is asked; what else is odd is told.

    Args:
        loaded: the spec.
        project: in place of its fixture.
        skip_tests: whether its commands are not to be run.

    Raises:
        InputError: there is no fixture, or what its tests are taken from is not in it.
        WorkspaceError: there is no such commit.
    """
    spec, where, folder = loaded.spec, loaded.path, project or loaded.fixture
    if project is None and not folder.is_dir():
        raise InputError(
            f"{where}: fixture: {spec.fixture!r} is no folder; looked for {folder.absolute()}, "
            "for it is relative to the file of the spec"
        )
    if skip_tests or not spec.tests:
        return
    paths = commit_paths(folder, spec.base_commit)
    if spec.test_files and paths is None:
        raise InputError(
            f"{where}: test_files are restored from a commit, and the fixture {folder} is no git repository"
        )
    for glob in spec.test_files:
        if not any(matches_globs(path, [glob]) for path in paths or ()):
            raise InputError(
                f"{where}: test_files: {glob!r} matches no file of the fixture at {spec.base_commit}, "
                f"so that no test could be judged; mend it, or give --skip-tests{_hint(glob, paths or ())}"
            )
    for test in spec.tests:
        if why := never_there(test.argv, spec, paths):
            raise InputError(f"{where}: tests.{test.name}: {why}")
        for path in named_files(test.argv):
            if paths is not None and not _is_among(path, paths):
                yield (
                    f"{where}: tests.{test.name}: argv names {path!r}, which the fixture does not have; "
                    f"the session is to make it{_hint(path, paths)}"
                )


def _is_among(path: str, paths: Collection[str]) -> bool:
    return path in paths or any(each.startswith(f"{path}/") for each in paths)


def _is_absent(tree: Path, path: str) -> bool:
    try:
        return kind_beneath(tree, path) is None
    except WorkspaceError:  # a link on the way, which may lead to it
        return False


def _hint(name: str, known: Collection[str]) -> str:
    folders = {"/".join(path.split("/")[:depth]) for path in known for depth in range(1, path.count("/") + 2)}
    hint = nearest(name, sorted(folders))
    return hint if "did you mean" in hint else ""
