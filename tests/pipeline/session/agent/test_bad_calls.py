"""Calls that make no sense: each is answered with what is wrong, and the session goes on."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.records.eval_spec import Limits

BAD: dict[str, tuple[str, Any, str]] = {
    "no such tool": ("browser", {}, "there is no tool 'browser'; known: edit_file"),
    "a misspelt tool": ("raed_file", {"path": "a"}, "did you mean 'read_file'"),
    "no JSON": ("exec", "{command: ls", "is not JSON"),
    "words": ("exec", "ls -l", "is not JSON"),
    "a list": ("exec", "[1]", 'are no object; expected one such as {"command": …}'),
    "null": ("exec", "null", "are no object"),
    "nothing": ("exec", "", "command: field required"),
    "a key twice": ("exec", '{"command": "a", "command": "b"}', "stands twice"),
    "NaN": ("exec", '{"command": "true", "timeout_s": NaN}', "NaN is no JSON number"),
    "half a surrogate": ("exec", '{"command": "\\ud800"}', "half of a surrogate pair"),
    "too deep": ("update_plan", '{"steps":' + "[" * 300 + "]" * 300 + "}", "deeper than"),
    "another type": ("exec", {"command": 5}, "command: input should be a valid string"),
    "a field too many": ("exec", {"command": "ls", "shell": "zsh"}, "there is no field 'shell'; known: command"),
    "a misspelt field": ("exec", {"comand": "ls"}, "there is no field 'comand'; did you mean 'command'?"),
    "NUL in a command": ("exec", {"command": "echo \0"}, "NUL"),
    "a command beyond the kernel's bound": ("exec", {"command": "x" * 200_000}, "longer than 120,000 bytes"),
    "a status that there is not": (
        "update_plan", {"steps": [{"id": "1", "subject": "s", "status": "maybe"}]}, "steps.0.status",
    ),
    "a file that is not there": ("read_file", {"path": "nowhere"}, "there is no such file"),
    "a folder": ("read_file", {"path": "src"}, "is no regular file"),
    "a path out": ("read_file", {"path": "../x"}, "is not relative and plain"),
    "a path elsewhere": ("write_file", {"path": "/etc/passwd", "content": "x"}, "is not relative and plain"),
    "a folder as a file": ("write_file", {"path": "src", "content": "x"}, "Is a directory"),
    "below a file": ("write_file", {"path": "src/sum.sh/x", "content": "x"}, "cannot be written"),
    "NUL in a path": ("write_file", {"path": "a\0b", "content": "x"}, "is not relative and plain"),
    "a path without end": ("write_file", {"path": "a/" * 70 + "b", "content": "x"}, "deeper than 64 folders"),
    "a name without end": ("write_file", {"path": "a" * 300, "content": "x"}, "too long"),
    "text that is not there": ("edit_file", {"path": "src/sum.sh", "old": "byebye", "new": ""}, "stands 0 times"),
    "text that stands often": ("edit_file", {"path": "src/sum.sh", "old": "t", "new": ""}, "10 times"),
    "no task": ("spawn_agent", {"task": " "}, "needs a task"),
    "no action": ("restrict_self", {"action": ""}, "'' is no action"),
    "an action that is none": ("restrict_self", {"action": "Exec!"}, "'Exec!' is no action"),
    "no address": ("fetch_url", {"url": "http://[::1"}, "denied by policy"),
    "a result that is no text": ("finish", {"result": 5}, "result: input should be a valid string"),
}  # fmt: skip


def test_each_bad_call_is_an_error_that_says_what_is_wrong(rehearsal) -> None:
    turns = [{"tool_calls": [{"tool": tool, "arguments": arguments}]} for tool, arguments, _ in BAD.values()]
    with rehearsal.play([*turns, {"text": "enough"}], limits=Limits(max_turns=100)) as outcome:
        results = rehearsal.results(outcome)
        missed = {
            name: told
            for (name, (_, _, wanted)), (failed, told) in zip(BAD.items(), results.values(), strict=True)
            if wanted not in told or not failed
        }
        assert missed == {}
        assert outcome.ending.reason == "finished"


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("exec.shel", "did you mean 'exec.shell'"),
        ("call.write", "did you mean 'call.write_file'"),
        ("net.connect.org", "known: call, call.edit_file"),
        ("", "there is no action ''"),
    ],
)
def test_a_misspelt_action_of_the_approvals_is_refused_before_anything_begins(
    rehearsal, action: str, told: str
) -> None:
    with (
        pytest.raises(InputError, match=r"approvals: there is no action .*") as caught,
        rehearsal.play([{"text": "x"}], file={"approvals": {action: "deny"}}),
    ):
        pass
    assert told in str(caught.value)


def test_actions_of_hosts_and_of_whole_kinds_are_known(rehearsal) -> None:
    approvals = {"net.fetch.org.example": "allow", "net": "deny", "exec": "allow", "call.finish": "allow"}
    with rehearsal.play([{"text": "x"}], file={"approvals": approvals}) as outcome:
        assert outcome.ending.reason == "finished"
