"""Says before a session of what lies in a project that the session will not see: it begins with a commit."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.cli.exit_codes import tell
from pipeline.cli.screen import printable
from pipeline.errors import InputError, WorkspaceError
from pipeline.sandbox import uncommitted_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.sandbox import Uncommitted
    from pipeline.store import Store

N_NAMED = 3  # paths in the message


def tell_of_uncommitted(project: Path, base_commit: str, store: Store) -> None:
    """Tell on stderr of files that are not committed; nothing where there are none, or they cannot be looked at.

    Args:
        project: the repository.
        base_commit: where the session begins.
        store: its files are left out, which often lie in the project.
    """
    with suppress(WorkspaceError, InputError):  # what is wrong with a project is told by the session itself
        found = list(_named(uncommitted_in(project), _store_in(project, store)))
        if found:
            files, them = ("1 file is", "it") if len(found) == 1 else (f"{len(found):,} files are", "them")
            more = f" and {len(found) - N_NAMED:,} more" if len(found) > N_NAMED else ""
            told = f"{', '.join(found[:N_NAMED])}{more}"
            tell(
                f"the session begins at the commit {base_commit} of {project}; {files} not committed there, and it "
                f"sees nothing of {them}: {printable(told)}"
            )


def _named(found: Uncommitted, store: str | None) -> Iterator[str]:
    for paths, state in ((found.changed, "changed"), (found.new, "new"), (found.deleted, "deleted")):
        yield from (f"{path} ({state})" for path in paths if store is None or not path.startswith(store))


def _store_in(project: Path, store: Store) -> str | None:
    """The beginning of the paths of a store that lies in the project."""
    place = store.local_path("sessions")
    if place is None:
        return None
    root, top = place.resolve().parent, project.resolve()
    return f"{root.relative_to(top).as_posix()}/" if root.is_relative_to(top) and root != top else None
