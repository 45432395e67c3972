"""The calls of a session that gave errors: what explains a failed session, and is a finding of no spec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from pipeline.records.audit_event import HEADER, AuditEvent
from pipeline.session.decode import UndecodableError
from pipeline.session.usual_lines import events_of

MAX_CHARACTERS = 200  # of the first message
_COMMAND = "exec"
_ENDED = re.compile(r"\[(?:exit status \d+|ended by signal \d+)\]$")


class CallErrors(NamedTuple):
    """What a log says of the calls of its session; those of its children are in their own logs."""

    n_calls: int
    n_errors: int
    """Calls that came to nothing: no such tool, arguments that do not fit, a file that is not there, a denial."""
    n_failed_commands: int
    """Commands that were run and ended with another exit status than 0; an agent learns from them, too."""
    first: str
    """The tool and the message of the first error, else of the first command that failed; empty: there is neither."""

    def remark(self) -> str:
        """For a person; empty: nothing went wrong with a call."""
        errors, commands = self.n_errors, self.n_failed_commands
        gave = f"gave {'an error' if errors == 1 else 'errors'}"
        were = f"{'was a command' if commands == 1 else 'were commands'} that failed"
        what = [f"{errors} {gave}"] * bool(errors) + [f"{commands} {were}"] * bool(commands)
        calls = f"{self.n_calls:,} tool {'call' if self.n_calls == 1 else 'calls'}"
        return f"of {calls}, {' and '.join(what)}; the first: {self.first}" if what else ""


def call_errors_of(log: bytes) -> CallErrors:
    """Count the errors in the bytes of a log, as far as its lines are events."""
    tools: dict[str, str] = {}
    n_calls = 0
    errors, commands = list[str](), list[str]()
    for event in _events(log):
        if event.name == "tool.call":
            n_calls += 1
            tools[event.raw["call_id"]] = event.raw["tool"]
        elif event.name == "tool.result" and event.raw["is_error"]:
            tool, output = tools.get(event.raw["call_id"], "a tool"), event.raw["output"]
            ended = _ENDED.search(output) if tool == _COMMAND else None
            told = f"{tool}: {_first_line(output)}"
            if ended is None:
                errors.append(told)
            else:
                commands.append(told if told.endswith(ended[0]) else f"{told} {ended[0]}")
    return CallErrors(n_calls, len(errors), len(commands), (errors or commands or [""])[0])


def _events(log: bytes) -> Iterator[AuditEvent]:
    with suppress(UndecodableError):
        yield from events_of(log[len(HEADER) :].split(b"\n")[:-1], len(HEADER))


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    line = lines[0] if lines else "no reason is told"
    return line if len(line) <= MAX_CHARACTERS else f"{line[:MAX_CHARACTERS]}…"
