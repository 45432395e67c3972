"""Agents that do what they should not: the session goes on, or ends for a reason that is true."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline.models.guarded import GuardedProvider
from pipeline.models.redacted import Redactor
from pipeline.records.audit_content import TextPart, ToolUse, ToolUsePart
from pipeline.records.exchange import ChatMessage, ChatReply, ChatRequest, Completion, Stop
from pipeline.sandbox import changed_workspace

HALF = "\ud800"  # of a surrogate pair: no character


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def shell(command: str) -> dict[str, Any]:
    return call("exec", command=command)


def played(rehearsal: Any, *calls: dict[str, Any], **choices: Any) -> tuple[Any, list[tuple[bool, str]]]:
    """The outcome of a session with one reply and its end, and what each call gave. The patch is proven, too."""
    with rehearsal.play([{"tool_calls": list(calls)}, {"tool_calls": [call("finish")]}], **choices) as outcome:
        results = list(rehearsal.results(outcome).values())
        assert outcome.ending.reason == "finished"
        kept = outcome.capture.workspace
        with changed_workspace(rehearsal.fixture, rehearsal.commit, kept.patch_base64, kept.end_tree):
            return outcome, results


def processes(mark: str) -> list[str]:
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path("/proc", number, "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in line:
            found.append(number)
    return found


def test_an_agent_that_fills_the_workspace_is_told_and_goes_on(rehearsal) -> None:
    _, (filled, freed, _) = played(
        rehearsal,
        shell("head -c 600M /dev/zero > big; echo status $?"),
        shell("ls -l big; rm -f big; echo free again"),
    )
    assert "File too large" in filled[1] or "No space left" in filled[1] or "more than the" in filled[1]
    assert (freed[0], "free again" in freed[1]) == (False, True)


def test_what_does_not_fit_beside_what_is_there_is_told_too(rehearsal) -> None:
    _, results = played(
        rehearsal,
        shell("for f in a b c d e; do head -c 99M /dev/zero > $f; done; echo kept"),
        shell("head -c 30M /dev/zero > g; echo status $?"),
        shell("rm -f a b c d e g; echo free again"),
    )
    assert "free again" in results[2][1]


def test_folders_without_end_are_told_and_the_workspace_stays_as_it_was(rehearsal) -> None:
    deep = "i=0; while [ $i -lt 80 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done; touch x; echo made"
    _, (told, listed, _) = played(rehearsal, shell(deep), shell("ls"))
    assert told[0]
    assert "deeper than" in told[1]
    assert not listed[0]
    assert "d\n" not in listed[1]


def test_nothing_that_an_agent_starts_outlives_its_command(rehearsal) -> None:
    mark = f"sleep 98{os.getpid()}"
    _, (left, _) = played(
        rehearsal,
        shell(f"setsid nohup {mark} >/dev/null 2>&1 & (trap '' TERM INT HUP; {mark}) >/dev/null 2>&1 & echo left"),
    )
    assert left[1] == "left\n[exit status 0]"
    assert processes(mark.replace(" ", "\0")) == []


def test_an_agent_that_kills_all_it_can_kills_its_own_command_alone(rehearsal) -> None:
    _, results = played(rehearsal, shell("kill -9 -1; kill -9 $$"), shell("echo still here"))
    assert results[0][0]
    assert results[1] == (False, "still here\n[exit status 0]")


def test_what_lies_outside_of_the_workspace_is_neither_written_nor_kept(rehearsal) -> None:
    outside = rehearsal.folder / "outside"
    outside.mkdir()
    outcome, (_, seen, _) = played(
        rehearsal,
        shell(f"echo x > {outside}/x; echo y > /etc/y; echo z > /usr/z; echo t > /tmp/t; ls /tmp"),
        shell("ls /tmp | wc -w; cat /etc/shadow; ls /root"),
    )
    assert list(outside.iterdir()) == []
    assert outcome.capture.workspace.patch_base64 == b""
    assert "root:" not in seen[1].replace("/root:", "")


@pytest.mark.parametrize("target", ["{outside}", "{outside}/secret", "/etc/passwd", "..", "src/sum.sh"])
def test_the_file_tools_follow_no_link(rehearsal, target: str) -> None:
    outside = rehearsal.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text("untouched")
    outcome, results = played(
        rehearsal,
        shell(f"ln -s {target.format(outside=outside)} link"),
        call("read_file", path="link"), call("write_file", path="link", content="x"),
        call("edit_file", path="link", old="untouched", new="x"),
        call("read_file", path="link/secret"), call("write_file", path="link/secret", content="x"),
        call("write_file", path="link/new/file", content="x"),
    )  # fmt: skip
    assert [failed for failed, _ in results] == [False] + [True] * 6 + [False]
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("secret", "untouched")]
    assert b"untouched" not in outcome.capture.workspace.patch_base64


def test_pipes_and_hard_links_neither_hang_nor_lead_out(rehearsal) -> None:
    began = time.monotonic()
    before = (rehearsal.fixture / "src" / "sum.sh").read_text()
    _, results = played(
        rehearsal,
        shell("mkfifo pipe; ln src/sum.sh twin; ln /usr/bin/env env 2>/dev/null; echo made"),
        call("read_file", path="pipe"), call("write_file", path="pipe", content="x"),
        call("write_file", path="twin", content="x"), call("read_file", path="src/sum.sh"),
    )  # fmt: skip
    assert time.monotonic() - began < 20
    assert results[1][0]
    assert results[4] == (False, before)


def test_a_repository_that_an_agent_makes_runs_nothing_of_ours(rehearsal) -> None:
    fired = rehearsal.folder / "fired"
    outcome, results = played(
        rehearsal,
        shell(
            "git init -q . && mkdir -p .git/hooks sub && cd sub && git init -q . && cd .. && "
            f"printf '[core]\\n\\tfsmonitor = touch {fired}\\n\\thooksPath = .git/hooks\\n"
            f'[filter "evil"]\\n\\tclean = touch {fired}\\n\' >> .git/config && '
            "printf '* filter=evil text=auto ident\\n' > .gitattributes && printf 'a\\r\\n$Id$\\n' > crlf && "
            "cp .git/config sub/.git/config; echo x > sub/file; echo done"
        ),
    )
    assert results[0][1].endswith("done\n[exit status 0]")
    assert not fired.exists()
    patch = outcome.capture.workspace.patch_base64
    assert b"+a\r\n+$Id$\n" in patch
    assert b".git/" not in patch


def test_output_without_end_is_cut_and_said_to_be(rehearsal) -> None:
    outcome, _ = played(rehearsal, shell("yes | head -c 5000000; echo the end"))
    exchange = outcome.capture.exchanges[1]
    assert exchange.kind == "tool"
    assert (exchange.truncated, len(exchange.result) < 40_000) == (True, True)
    assert "left out" in exchange.result
    assert exchange.result.endswith("the end\n[exit status 0]")


def test_a_file_without_end_is_cut_and_said_to_be(rehearsal) -> None:
    text = "".join(f"line {number}\n" for number in range(50_000))
    _, results = played(
        rehearsal, call("write_file", path="long.txt", content=text), call("read_file", path="long.txt")
    )
    assert results[1][1].startswith("line 0\nline 1\n")
    assert "left out" in results[1][1]
    assert len(results[1][1]) < 100_000


def test_bytes_that_are_no_text_are_shown_as_such(rehearsal) -> None:
    _, results = played(rehearsal, shell("printf '\\377\\376' | tee binary"), call("read_file", path="binary"))
    assert results[1] == (False, "\ufffd\ufffd")


class Endless:
    """A provider that says ten megabytes, and then is done."""

    def __init__(self, *calls: ToolUse) -> None:
        self.replies = [self.reply(TextPart(text="word " * 2_000_000), *calls), self.reply(TextPart(text="done"))]

    def reply(self, text: TextPart, *calls: ToolUse) -> Completion:
        parts = [ToolUsePart(tool_use=each) for each in calls]
        message = ChatMessage(role="assistant", content=(text, *parts))
        return Completion(reply=ChatReply(message=message, stop=Stop(reason="stop")))

    async def complete(self, request: ChatRequest) -> Completion:
        return self.replies.pop(0)

    async def close(self) -> None:
        """Nothing."""


def test_ten_megabytes_of_words_and_of_arguments_are_no_trouble(rehearsal) -> None:
    words = json.dumps({"path": "big", "content": "word " * 2_000_000})
    calls = [
        ToolUse(call_id="1", tool="exec", arguments='{"command": "true"}'),
        ToolUse(call_id="2", tool="write_file", arguments=words),
    ]
    began = time.monotonic()
    with rehearsal.play([], provider=Endless(*calls)) as outcome:
        assert outcome.ending.reason == "finished"
        done, written = rehearsal.results(outcome).values()
        assert not done[0]
        assert not written[0] or "more than" in written[1]
        assert rehearsal.facts(outcome).end_reason == "finished"
    assert time.monotonic() - began < 60


class Odd:
    """A provider of a user's own that gives what is no text."""

    async def complete(self, request: ChatRequest) -> Completion:
        use = ToolUse(call_id="\udc00", tool=f"exec{HALF}", arguments=f'{{"command": "{HALF}"}}')
        done = ToolUsePart(tool_use=ToolUse(call_id="2", tool="finish", arguments="{}"))
        message = ChatMessage(role="assistant", content=(TextPart(text=f"a{HALF}b"), ToolUsePart(tool_use=use), done))
        return Completion(reply=ChatReply(message=message, stop=Stop(reason="tool_calls")))

    async def close(self) -> None:
        """Nothing."""


def test_halves_of_characters_are_replaced_before_anything_is_written(rehearsal) -> None:
    with rehearsal.play([], task=f"mend {HALF} it", provider=GuardedProvider(Odd(), Redactor([]))) as outcome:
        assert outcome.ending.reason == "finished"
        log = outcome.log.read_text()
        assert "a\ufffdb" in log
        assert "mend \ufffd it" in log


class Raising:
    """A provider of a user's own that breaks its promise."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def complete(self, request: ChatRequest) -> Completion:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]

    async def close(self) -> None:
        """Nothing."""


@pytest.mark.parametrize(
    ("answer", "told"),
    [(ValueError("oh"), "ValueError: oh"), (TimeoutError("mine"), "TimeoutError: mine"), (None, "NoneType")],
)
def test_a_provider_that_raises_is_an_error_of_the_session(rehearsal, answer: object, told: str) -> None:
    with rehearsal.play([], provider=GuardedProvider(Raising(answer), Redactor([]))) as outcome:
        assert outcome.ending.reason == "errored"
        assert told in outcome.ending.detail
