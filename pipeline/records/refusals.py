"""Why a replay is refused."""

from __future__ import annotations

from enum import StrEnum


class ReplayRefusal(StrEnum):
    """Each names another way in which a capture does not answer the session that asks it."""

    INTEGRITY = "integrity"
    """The capture is not what was written."""
    TRUNCATED = "truncated"
    """It ends where its own last reply asks for more, or an exchange is missing."""
    REORDERED = "reordered"
    """Its exchanges are not in their order."""
    DIVERGED = "diverged"
    """The session asks for something else."""
    EXHAUSTED = "exhausted"
    """The session asks for more than there is."""
    UNUSED = "unused"
    """The session ends before all is used."""
    WORKSPACE = "workspace"
    """The end state does not lead to the tree that is named."""
