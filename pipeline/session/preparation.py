"""What is seen to before a session begins, and put right when it ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import InputError
from pipeline.models.redacted import Redactor
from pipeline.records.agent_config import AgentConfig
from pipeline.sandbox import Workspace, workspace_copy
from pipeline.sandbox.git import git_folder
from pipeline.store import Store


def refuse_store_inside(fixture: Path, store: Store) -> None:
    """A fixture without git is copied as it is, and sessions that lie in it would be shown to the next one.

    Raises:
        InputError: the store lies in such a fixture.
    """
    place = store.local_path("sessions")
    if place is None or git_folder(fixture) is not None or not place.resolve().is_relative_to(fixture.resolve()):
        return
    raise InputError(
        f"the store {store.display} lies in {fixture}, which has no git, so that the agent would see its sessions; "
        "name one elsewhere with --store, or make a repository there (git init)"
    )


def without_secrets(config: AgentConfig, redactor: Redactor) -> AgentConfig:
    """A configuration whose prompt holds no secret: it is kept beside the log."""
    return config.model_copy(update={"prompt": redactor.text(config.prompt)})


@contextmanager
def kept_beginning(fixture: Path, workspace: Workspace) -> Iterator[Path]:
    """What a session's changes are told against: a repository, or a copy of a folder that may change meanwhile."""
    if workspace.base_commit is not None:
        yield fixture
        return
    with workspace_copy(workspace.path) as copy:
        yield copy.path


@contextmanager
def own_handlers() -> Iterator[None]:
    """Gives the process its handlers of signals back: asyncio puts those of the system in the place of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
