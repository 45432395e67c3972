"""Isolation of commands, trees of their own to work in, and safe reads of what they leave behind."""

from pipeline.sandbox.beneath import Entry, Kind, digest_beneath, kind_beneath, list_beneath, read_beneath
from pipeline.sandbox.command import CommandOutcome, Ended, NetworkDecision, SandboxedCommand
from pipeline.sandbox.drivers import Driver, check_driver, driver_named
from pipeline.sandbox.end_state import Change, change_of, changed_workspace
from pipeline.sandbox.limits import SandboxLimits
from pipeline.sandbox.profile import SandboxProfile, profile_of
from pipeline.sandbox.run import run_sandboxed
from pipeline.sandbox.uncommitted import Uncommitted, uncommitted_in
from pipeline.sandbox.workspace import (
    Workspace,
    check_room,
    commit_paths,
    matches_globs,
    resolve_commit,
    restore_files,
    sweep_workspaces,
    workspace_copy,
    workspace_of,
    write_beneath,
)

__all__ = [
    "Change",
    "CommandOutcome",
    "Driver",
    "Ended",
    "Entry",
    "Kind",
    "NetworkDecision",
    "SandboxLimits",
    "SandboxProfile",
    "SandboxedCommand",
    "Uncommitted",
    "Workspace",
    "change_of",
    "changed_workspace",
    "check_driver",
    "check_room",
    "commit_paths",
    "digest_beneath",
    "driver_named",
    "kind_beneath",
    "list_beneath",
    "matches_globs",
    "profile_of",
    "read_beneath",
    "resolve_commit",
    "restore_files",
    "run_sandboxed",
    "sweep_workspaces",
    "uncommitted_in",
    "workspace_copy",
    "workspace_of",
    "write_beneath",
]
