"""What is told of the calls of a session that gave errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.records.audit_turn import ToolCall, ToolResult
from pipeline.session.call_errors import call_errors_of
from pipeline.session.log_writer import AuditLogWriter

SESSION = "01J0000000ABCDEFGHJKMNPQRS"


def log_of(path: Path, calls: list[tuple[str, str, bool]]) -> bytes:
    with AuditLogWriter(path, SESSION, lambda: 1) as log:
        for number, (tool, output, is_error) in enumerate(calls):
            log.append(ToolCall(call_id=f"c{number}", tool=tool, arguments="{}"))
            log.append(ToolResult(call_id=f"c{number}", output=output, is_error=is_error, truncated=False))
    return path.read_bytes()


@pytest.mark.parametrize(
    "calls, told",
    [
        ([], ""),
        ([("exec", "a\n[exit status 0]", False)], ""),
        (
            [("exec", "[exit status 1]", True)],
            "of 1 tool call, 1 was a command that failed; the first: exec: [exit status 1]",
        ),
        (
            [("exec", "sh: foo: not found\n[exit status 127]", True), ("exec", "[ended by signal 9]", True)],
            "of 2 tool calls, 2 were commands that failed; the first: exec: sh: foo: not found [exit status 127]",
        ),
        (
            [("exec", "[exit status 1]", True), ("read", "there is no file 'a'\nsecond line", True)],
            "of 2 tool calls, 1 gave an error and 1 was a command that failed; the first: read: there is no file 'a'",
        ),
        ([("exec", "timed out", True)], "of 1 tool call, 1 gave an error; the first: exec: timed out"),
        ([("a", "", True)], "of 1 tool call, 1 gave an error; the first: a: no reason is told"),
    ],
)
def test_errors_come_before_commands_that_failed(tmp_path: Path, calls: list[tuple[str, str, bool]], told: str) -> None:
    assert call_errors_of(log_of(tmp_path / "log.jsonl", calls)).remark() == told


def test_a_long_message_is_cut_and_a_line_that_is_not_whole_is_not_counted(tmp_path: Path) -> None:
    data = log_of(tmp_path / "log.jsonl", [("a", "x" * 1000, True), ("b", "y", True)])
    found = call_errors_of(data[:-1])
    assert (found.n_calls, found.n_errors) == (2, 1)
    assert found.first == f"a: {'x' * 200}…"
