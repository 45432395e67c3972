"""The scripted provider: what it answers, turn by turn, and what a script may hold."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import InputError
from pipeline.models.open_provider import open_provider
from pipeline.models.profiles import find_profile
from pipeline.records.audit_content import TextPart, ToolUsePart
from pipeline.records.exchange import ChatMessage, ChatRequest, Completion
from pipeline.records.provider_profile import ProviderProfile

REQUEST = ChatRequest(
    model="m", system="", messages=(ChatMessage(role="user", content=(TextPart(text="Mend it."),)),), tools=()
)


def play(file: Path, n_requests: int, environment: dict[str, str] | None = None) -> list[Completion]:
    async def ask() -> list[Completion]:
        provider = open_provider(find_profile("scripted", None, {}), str(file), environment or {})
        try:
            return [await provider.complete(REQUEST) for _ in range(n_requests)]
        finally:
            await provider.close()

    return asyncio.run(ask())


def script(folder: Path, turns: Any) -> Path:
    file = folder / "script.json"
    file.write_text(json.dumps(turns))
    return file


def test_turns_come_in_their_order_with_calls_usage_and_tokens(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(
        """
- text: I look.
  tool_calls:
  - {tool: read_file, arguments: {path: a.py}}
  - {tool: exec, arguments: 'not JSON'}
  usage: {input_tokens: 10, output_tokens: 2}
  tokens: {prompt_token_ids: [1, 2], response_token_ids: [3, 4], old_logprobs: [-0.5, null]}
  logprobs_mode: processed
- text: Done.
- {}
"""
    )
    first, second, third = play(file, 3)
    assert first.reply.message is not None
    text, read, run = first.reply.message.content
    assert text == TextPart(text="I look.")
    assert isinstance(read, ToolUsePart)
    assert isinstance(run, ToolUsePart)
    assert (read.tool_use.call_id, read.tool_use.tool, read.tool_use.arguments) == (
        "call-1", "read_file", '{"path": "a.py"}',
    )  # fmt: skip
    assert (run.tool_use.call_id, run.tool_use.arguments) == ("call-2", "not JSON")
    assert first.usage.input_tokens == 10
    assert first.tokens is not None
    assert (first.tokens.response_mask, first.tokens.old_logprobs) == ((1, 1), (-0.5, None))
    assert first.cost.model_dump() == {"free": True}
    assert [each.reply.stop.reason for each in (first, second, third) if each.reply.stop] == [
        "tool_calls", "stop", "stop",
    ]  # fmt: skip
    assert third.reply.message == ChatMessage(role="assistant", content=())


def test_a_script_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    file = script(tmp_path, [{"text": "a", "tool_calls": [{"tool": "exec", "arguments": {}}]}, {"fault": "cut"}])
    once, again = play(file, 2), play(file, 2)
    assert [each.model_dump_json() for each in once] == [each.model_dump_json() for each in again]


@pytest.mark.parametrize(
    "fault, error",
    [("connect", "connect"), ("timeout", "timeout"), ("cut", "cut"), ("garbage", "protocol")],
)
def test_a_fault_is_a_failed_reply(fault: str, error: str, tmp_path: Path) -> None:
    (answer,) = play(script(tmp_path, [{"text": "half an ans", "fault": fault}]), 1)
    assert answer.reply.failed is not None
    assert answer.reply.failed.error == error
    assert (answer.reply.failed.partial is not None) == (fault == "cut")


def test_a_status_is_an_error_of_the_providers(tmp_path: Path) -> None:
    file = script(tmp_path, [{"fault": {"status": 429, "body": "slow down", "retry_after_s": 2}}])
    (answer,) = play(file, 1)
    assert answer.reply.status_error is not None
    assert answer.reply.status_error.model_dump() == {"status": 429, "body": "slow down", "retry_after_s": 2.0}


def test_a_request_after_the_last_turn_fails_and_says_so(tmp_path: Path) -> None:
    answer = play(script(tmp_path, [{"text": "a"}]), 2)[1]
    assert answer.reply.failed is not None
    assert answer.reply.failed.error == "config"
    assert answer.reply.failed.reason == "the script ends with turn 1, and was asked for turn 2"


def test_secrets_of_the_environment_are_taken_out_and_their_ids_with_them(tmp_path: Path) -> None:
    tokens = {"prompt_token_ids": [1], "response_token_ids": [2], "old_logprobs": [-1.0]}
    calls = [{"tool": "exec", "arguments": {"command": 'echo s3cr3t"quoted'}}]
    file = script(tmp_path, [{"text": 'it is s3cr3t"quoted', "tool_calls": calls, "tokens": tokens}])
    (answer,) = play(file, 1, {"MY_TOKEN": 's3cr3t"quoted', "PATH": "/usr/bin:/bin"})
    assert "s3cr3t" not in answer.model_dump_json()
    assert "it is [secret]" in answer.model_dump_json()
    assert answer.tokens is None


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "script.yaml:1: is empty; a script is a list of turns"),
        ("text: a", "script.yaml:1: holds {'text': 'a'}; a script is a list of turns"),
        ("- text: a\n- txt: b", "script.yaml:2: unknown field '[1].txt'; did you mean 'text'?"),
        ("- fault: hang", "script.yaml:1: [0].fault.kind: found 'hang'"),
        ("- fault: {status: 200}", "[0].fault.status: found 200"),
        ("- fault: {kind: cut, status: 500}", "expected a status for kind status, and for no other"),
        ("- tool_calls: [{arguments: {}}]", "script.yaml:1: the field '[0].tool_calls[0].tool' is missing"),
    ],
)
def test_a_fault_of_a_script_is_named(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        play(file, 0)
    assert said in str(caught.value)


def test_a_script_that_is_not_there_is_told_with_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone.yaml: the script cannot be read \(No such file"):
        play(tmp_path / "gone.yaml", 0)


def test_a_scripted_profile_without_a_script_is_told_how_to_name_one() -> None:
    example = r"\{name: house, kind: scripted, script: answers\.yaml\}"
    house = ProviderProfile(name="house", kind="scripted")
    for model, said in (
        (None, "has no field script; write"),
        ("gpt-5", "and the model 'gpt-5' is no file of one; write"),
    ):
        with pytest.raises(InputError, match=rf"{said} it into the profile: {example}"):
            open_provider(house, model, {})
    with pytest.raises(InputError, match="or give the path of a script as the model"):
        open_provider(find_profile("scripted", None, {}), None, {})
