"""What a report is judged from: the log, the tree that the session left, and what the test commands did."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from pipeline.records.audit_verdict import ChainVerdict
from pipeline.session.facts import SessionFacts


class LogEvidence(NamedTuple):
    """A log as it was verified and folded, in one pass over its bytes."""

    verdict: ChainVerdict
    facts: SessionFacts | None
    """None: no event could be read."""


class PathKind(StrEnum):
    """What stands at a path of the tree."""

    ABSENT = "absent"
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    """One that leads nowhere."""
    OTHER = "other"
    """A pipe, a socket, a device."""
    OUTSIDE = "outside"
    """The path leads through a link out of the tree, which was not followed."""
    UNREADABLE = "unreadable"


class PathState(NamedTuple):
    """One path of the tree."""

    kind: PathKind
    sha256: str | None = None
    """Of the bytes of a file; None: no file, not asked for, or not readable."""
    detail: str = ""


class TreeEvidence(NamedTuple):
    """The fixture, and the tree that the session left."""

    fixture: str
    """The folder that was looked at."""
    problem: str = ""
    """Why it cannot be looked at; empty: it can."""
    has_git: bool = True
    base_commit: str | None = None
    """The full object id to which the spec's `base_commit` resolves; None: to none, or a fixture without git."""
    base_problem: str = ""
    """Why it does not resolve; empty: it does."""
    known_commits: frozenset[str] = frozenset()
    """Of the commits from which the session began, those that the fixture has."""
    paths: Mapping[str, PathState] = {}
    """Each path that the spec speaks of."""


class CommandResult(NamedTuple):
    """What became of one test command. Exactly one of the first three is set where it was started and has ended."""

    name: str
    exit_status: int | None = None
    signal: int | None = None
    stopped: str = ""
    """What stopped it, such as `timed out`; empty: nothing."""
    not_started: str = ""
    """Why it could not be started; empty: it was."""
    starts_on_fixture: bool | None = None
    """Of one that could not be started: whether it starts on the untouched fixture; None: that was not tried."""
    output: str = ""
    """Both streams, as far as they were kept."""
    is_cut: bool = False
    """Whether there was more."""
    is_protected: bool = False
    """Whether the files that judge were restored from the base commit."""
    absent: str = ""
    """Of one that failed: a file that its argv names and that is not there; empty: there is none."""
    is_sandboxed: bool = True
    """Whether it ran in isolation, and not with all rights of the caller."""
