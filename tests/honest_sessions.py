"""Sessions for tests: a small repository, what an agent made of it, and the log of that, written by the real writer."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.records.audit_content import FreeCost, KnownCost, Money, TextPart
from pipeline.records.audit_session import (
    AgentComplete,
    NetworkConnection,
    NetworkSummary,
    SandboxOpen,
    SessionConfig,
    SessionEnd,
    SessionSpawn,
    SessionStart,
    WorkspaceOpen,
)
from pipeline.records.audit_turn import ApprovalResponse, Message, ToolCall, ToolResult, Usage
from pipeline.records.audit_wire import Payload
from pipeline.session.log_writer import AuditLogWriter

SESSION = "01J0000000ABCDEFGHJKMNPQRS"
CONFIG, SANDBOX = "c" * 64, "5" * 64
TASK = "A list without any numbers must be refused with exit status 2. Keep the sum of others as it is."

BROKEN = """#!/bin/sh
# the sum of the numbers in a file, one a line
total=0
while read -r number; do total=$((total + number)); done < "$1"
echo "$total"
"""
HALF = BROKEN.replace("total=0", 'test -e "$1" || exit 2\ntotal=0')
SOLVED = BROKEN.replace("total=0", 'test -s "$1" || exit 2\ntotal=0')

_UNIT = """#!/bin/sh
printf '4\\n3\\n' > list
test "$(sh src/sum.sh list)" = 7 && echo "a list is summed"
"""
_EMPTY = """#!/bin/sh
: > list
if sh src/sum.sh list; then echo "a list without numbers has a sum"; exit 1; fi
"""


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def make_fixture(folder: Path) -> str:
    """A repository with a program that accepts too much, and tests; returns its commit, tagged `v1`."""
    (folder / "src").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "src" / "sum.sh").write_text(BROKEN)
    (folder / "tests" / "unit.sh").write_text(_UNIT)
    (folder / "tests" / "empty.sh").write_text(_EMPTY)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "a sum")
    git(folder, "tag", "v1")
    return git(folder, "rev-parse", "HEAD")


def solve(folder: Path, text: str = SOLVED) -> None:
    """What the agent did."""
    (folder / "src" / "sum.sh").write_text(text)


def spec_of(folder: Path, **changes: Any) -> dict[str, Any]:
    """The spec of the task, as plain values; `expect` is added to."""
    expect = {
        "end_reason": "finished", "max_turns": 8, "max_cost": 1.0, "currency": "USD", "config_sha256": CONFIG,
        "sandbox_sha256": SANDBOX, "sandbox_driver": "native", "required_events": ["tool.call", "usage"],
        "forbidden_tools": ["browser"], "required_paths": ["src/sum.sh"], "forbidden_paths": ["secrets.txt"],
        "forbidden_network_hosts": ["example.invalid"], "require_no_network": True, "require_no_refusals": True,
        "min_subagents": 1, "max_subagents": 4, "require_subagents_complete": True,
        **changes.pop("expect", {}),
    }  # fmt: skip
    return {
        "schema": "chock.eval", "version": 1, "name": "a list without numbers is refused", "task": TASK,
        "fixture": str(folder), "base_commit": "refs/tags/v1", "expect": expect, "test_files": ["tests"],
        "tests": [{"name": name, "argv": ["sh", f"tests/{name}.sh"]} for name in ("unit", "empty")],
        **changes,
    }  # fmt: skip


def write_session(path: Path, commit: str, kind: str, task: str = TASK) -> Path:
    """The log of one of `KINDS`; what a session solved is told by the tree beside it, not by its log."""
    write_log(path, commit, task=task, **KINDS[kind])
    if kind == TAMPERED:
        path.write_bytes(path.read_bytes().replace(b'"value":0.25', b'"value":0.05'))
    return path


def write_log(
    path: Path,
    commit: str,
    *,
    task: str = TASK,
    without: Iterable[str] = (),
    extra: Sequence[Payload] = (),
    **config: Any,
) -> Path:
    """The log of one honest session.

    Args:
        path: of the log.
        commit: from which the session began.
        task: what the agent was asked.
        without: wire names of events that are left out.
        extra: events of the turn, beside the usual ones.
        config: members of `session.config` that are others.
    """
    left_out = frozenset(without)
    clock = itertools.count(1_760_000_000_000)
    with AuditLogWriter(path, SESSION, lambda: next(clock)) as log:
        for event in _events(commit, task, extra, config):
            if event.wire_name not in left_out:
                log.append(event)
    return path


def dollars(value: float) -> KnownCost:
    return KnownCost(known=Money(value=value, currency="USD"))


def refused(action: str = "exec.network") -> ApprovalResponse:
    return ApprovalResponse(request_id=0, decision="denied_by_policy", responder="", action=action)


def lost_child() -> SessionSpawn:
    return SessionSpawn(child_session="01J000000ZABCDEFGHJKMNPQRS", child_agent_kind="helper", reason="look again")


def connected(host: str) -> NetworkConnection:
    return NetworkConnection(host=host, granted=1)


SOLVED_SESSION, HALF_SOLVED, TAMPERED = "solved", "half solved", "tampered"
KINDS: Mapping[str, Mapping[str, Any]] = {
    SOLVED_SESSION: {},
    HALF_SOLVED: {},
    "lost child": {"extra": [lost_child()]},
    "refused": {"extra": [refused()]},
    "over budget": {"extra": [Usage(cost=dollars(3.0), model="coder")]},
    "network used": {"extra": [connected("example.invalid")]},
    TAMPERED: {},
}
"""Sessions of which one thing is known beforehand, and how their logs differ (see `write_log`)."""


def _events(commit: str, task: str, extra: Sequence[Payload], config: dict[str, Any]) -> list[Payload]:
    child = "01J0000001ABCDEFGHJKMNPQRS"
    known = {"config_hash": CONFIG, "sandbox_hash": SANDBOX, "sandbox_driver": "native", **config}
    return [
        WorkspaceOpen(kind="worktree", attempt="1", path="/w", base_commit=commit),
        SandboxOpen(attempt="1", write_execute="strict", decision="allow"),
        Message(role="user", content=(TextPart(text=task),)),
        SessionStart(agent_kind="main", model_alias="local", parent_session=""),
        SessionConfig(**known),
        Usage(cost=FreeCost(free=True), model="coder"),
        Message(role="assistant", content=(TextPart(text="I look at the program."),), model_alias="local"),
        ToolCall(call_id="1", tool="spawn_agent", arguments="{}"),
        ApprovalResponse(request_id=0, decision="allowed_by_policy", responder="", action="call.spawn_agent"),
        SessionSpawn(child_session=child, child_agent_kind="helper", reason="look at the program"),
        AgentComplete(
            child_session=child, child_agent_kind="helper", outcome="finished", result="it sums nothing to 0",
            scratchpad_path="",
        ),
        *extra,
        ToolResult(call_id="1", output="it sums nothing to 0", is_error=False, truncated=False),
        Usage(cost=dollars(0.25), model="coder"),
        Message(role="assistant", content=(TextPart(text="The program is mended."),), model_alias="local"),
        SessionEnd(reason="finished", detail=""),
        NetworkSummary(granted=sum(isinstance(event, NetworkConnection) for event in extra)),
    ]  # fmt: skip
