"""What events say of a session, its children and the harness around it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, Strict

from pipeline.records.audit_wire import AsFound, Flag, Label, Number, Payload, Text, Whole, WireRecord

Lax = Strict(False)  # lists of JSON become tuples; what is in them stays strict


class Spawner(WireRecord):
    """One agent of the chain above a session."""

    agent_kind: Text
    reason: Text


class SessionStart(Payload):
    """The first run of a session begins."""

    wire_name = "session.start"

    agent_kind: Text
    model_alias: Text
    parent_session: Text
    """Empty: the root."""
    spawn_chain: Annotated[tuple[Spawner, ...], Lax] = ()


class SessionConfig(Payload):
    """Under what a run works; written by every run."""

    wire_name = "session.config"
    only_if_set: ClassVar[frozenset[str]] = frozenset(
        {"sandbox_hash", "instructions", "policy_rules", "dev_shell", "allow_dirty", "sandbox_driver"}
    )

    config_hash: Text | None
    """Digest of the effective configuration; null: there is none."""
    sandbox_hash: Text = ""
    instructions: Annotated[tuple[AsFound, ...], Lax] = ()
    policy_rules: Annotated[tuple[Text, ...], Lax] = ()
    """`action=decision`."""
    dev_shell: AsFound = None
    allow_dirty: Flag = False
    sandbox_driver: Text = ""
    """Our own member: `native`, `microvm` or `none`."""


class SessionEnd(Payload):
    """A run ended. Other events may follow, and a session that is taken up again ends again."""

    wire_name = "session.end"

    reason: Text
    detail: Text


class SessionSpawn(Payload):
    """A child was started."""

    wire_name = "session.spawn"

    child_session: Text
    child_agent_kind: Text
    reason: Text
    """First line of the task, at most 200 bytes."""
    budget_max_cost: Number = 0
    budget_currency: Text = ""


class SessionTitle(Payload):
    """What the session is called."""

    wire_name = "session.title"

    title: Text


class SessionImported(Payload):
    """The session was made from one of another program."""

    wire_name = "session.imported"
    only_if_set: ClassVar[frozenset[str]] = frozenset({"source_started_ms", "source_ended_ms", "messages"})

    from_: Text = Field(alias="from")
    source_path: Text
    content_hash: Text
    imported_ms: Whole
    source_started_ms: Whole = 0
    source_ended_ms: Whole = 0
    messages: Whole = 0


class AgentComplete(Payload):
    """A child ended."""

    wire_name = "agent.complete"

    child_session: Text
    child_agent_kind: Text
    outcome: Text
    result: Text
    """At most 16 KiB."""
    scratchpad_path: Text


class WorkspaceOpen(Payload):
    """The folder that a run works in."""

    wire_name = "workspace.open"

    kind: Text
    """`worktree` or `overlay`."""
    attempt: Text
    path: Text
    base_commit: Text
    """The full object id that the folder starts from; empty without git."""


class WorkspaceIntegrate(Payload):
    """What became of the work at the end."""

    wire_name = "workspace.integrate"

    ref: Label
    mode: Text
    decision: Text
    branch: Text
    branch_from: Text
    branch_to: Text
    parked: AsFound


class WorkspaceAdopt(Payload):
    """A run took over what another had left."""

    wire_name = "workspace.adopt"

    attempt: Text
    path: Text
    files: AsFound = None
    deleted: AsFound = None
    skipped: AsFound = None


class SandboxOpen(Payload):
    """The sandbox of a run."""

    wire_name = "sandbox.open"

    attempt: Text
    write_execute: Text
    """`strict` or `relaxed`."""
    decision: Text


class SandboxSupervisor(Payload):
    """What watched over the sandbox, and how much of it."""

    wire_name = "sandbox.supervisor"

    process: AsFound
    layer: AsFound
    fail_mode: AsFound = None
    confined: AsFound = None
    unconfined: AsFound = None
    unreported: AsFound = None
    reason: AsFound = None


class CallCount(WireRecord):
    """How often a system call was seen."""

    name: Text
    count: Whole
    unverified_paths: AsFound


class SandboxSyscalls(Payload):
    """Which system calls were seen."""

    wire_name = "sandbox.syscalls"

    mechanism: Text
    observed: AsFound = None
    unobserved: AsFound = None
    calls: Annotated[tuple[CallCount, ...], Lax] = ()
    paths_verified: Flag = False
    path_readers_unreported: AsFound = None
    path_readers_absent: AsFound = None


class DeviceExposed(Payload):
    """A device was given to the sandbox."""

    wire_name = "device.exposed"

    attempt: Text
    action: Text
    decision: Text
    enforced: Flag = False


class NetworkSummary(Payload):
    """Connections of a run, counted; once a run. Says nothing of hosts."""

    wire_name = "network.summary"

    granted: Whole = 0
    refused: Whole = 0
    diagnostic: Text = ""
    """The first refusal; empty: there was none."""


class NetworkConnection(Payload):
    """Our own event: the connections to one host, counted; one a host and run, at its end."""

    wire_name = "network.connection"

    host: Text
    granted: Whole = 0
    refused: Whole = 0
