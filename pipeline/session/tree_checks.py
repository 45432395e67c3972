"""Checks of the fixture and of the tree that the session left. The fixture owns them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from pipeline.records.eval_spec import EvalSpec
from pipeline.records.owners import Owner
from pipeline.records.report import Finding
from pipeline.session.evidence import PathKind, PathState, TreeEvidence
from pipeline.session.facts import SessionFacts
from pipeline.session.findings import Judged, SessionCheck, finding

_UNKNOWN = frozenset({PathKind.OUTSIDE, PathKind.UNREADABLE})
_DEFAULT_REVISION = "HEAD"


def check_fixture(tree: TreeEvidence) -> Finding:
    """Whether there is a fixture to look at."""
    judged = Judged(not tree.problem, None if tree.problem else "available", tree.problem)
    return finding("fixture.available", Owner.FIXTURE, "available", judged)


def base_commit_check(spec: EvalSpec, tree: TreeEvidence) -> Finding | SessionCheck:
    """Whether the session began where the spec says: a finding where that does not resolve, else a check of the log."""
    problem = tree.problem or tree.base_problem
    if problem:
        judged = Judged(False, None, f"{spec.base_commit!r} does not resolve: {problem}")
        return finding("fixture.base_commit", Owner.FIXTURE, spec.base_commit, judged)

    return SessionCheck("fixture.base_commit", Owner.FIXTURE, tree.base_commit, partial(_judge_bases, spec, tree))


def _judge_bases(spec: EvalSpec, tree: TreeEvidence, facts: SessionFacts) -> Judged:
    """Every workspace of the session counts; one that is wrong is told."""
    if not facts.base_commits:
        return Judged(False, None, "the log has no workspace.open, which names the commit")
    judged = [_judge_base(spec, tree, began) for began in facts.base_commits]
    return next((each for each in judged if not each.passed), judged[-1])


def _judge_base(spec: EvalSpec, tree: TreeEvidence, began: str) -> Judged:
    if not began:
        return Judged(not tree.has_git, None, "the session began without git")
    if not tree.has_git:
        return Judged(False, began, "the fixture has no git")
    if began == tree.base_commit:
        return Judged(True, began)
    is_known = began in tree.known_commits
    if spec.base_commit == _DEFAULT_REVISION and is_known:
        return Judged(True, began, "HEAD has moved since the session began; pin a tag or a full object id")
    which = "another commit of the fixture" if is_known else "a commit that the fixture does not have"
    return Judged(False, began, f"the session began at {which}")


def check_paths(spec: EvalSpec, tree: TreeEvidence) -> Iterable[Finding]:
    """Paths that must be there, that must not be, and files that must be exact."""
    expect = spec.expect
    for path in expect.required_paths:
        state = _state(tree, path)
        is_there = state.kind in (PathKind.FILE, PathKind.FOLDER)
        yield finding(f"path.required:{path}", Owner.FIXTURE, "present", _judged(state, is_there))
    for path in expect.forbidden_paths:
        state = _state(tree, path)
        judged = _judged(state, state.kind is PathKind.ABSENT)
        yield finding(f"path.forbidden:{path}", Owner.FIXTURE, PathKind.ABSENT.value, judged)
    for pinned in expect.files:
        state = _state(tree, pinned.path)
        detail = state.detail or ("" if state.sha256 else f"is {state.kind.value}")
        judged = Judged(state.sha256 == pinned.sha256, state.sha256, detail)
        yield finding(f"file.sha256:{pinned.path}", Owner.FIXTURE, pinned.sha256, judged)


def _state(tree: TreeEvidence, path: str) -> PathState:
    if tree.problem:
        return PathState(PathKind.UNREADABLE, detail=tree.problem)
    return tree.paths.get(path, PathState(PathKind.UNREADABLE, detail="was not looked at"))


def _judged(state: PathState, passed: bool) -> Judged:
    return Judged(passed, None if state.kind in _UNKNOWN else state.kind.value, state.detail)
