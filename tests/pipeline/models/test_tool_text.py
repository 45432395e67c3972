"""Tools in words: how they are told, and which replies call them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.models.tool_text import read_calls, tell_tools
from pipeline.records.audit_content import TextPart, ToolAnswer, ToolResultPart, ToolUse, ToolUsePart
from pipeline.records.exchange import ChatMessage, ChatRequest, ToolSpec

TOOL = ToolSpec(name="exec", description="Runs a command.", parameters={"type": "object"})


def block(name: str = "exec", arguments: str = '{"command": "ls"}') -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def calls(text: str) -> list[tuple[str, str]]:
    return [(part.tool_use.tool, part.tool_use.arguments) for part in read_calls(text) if isinstance(part, ToolUsePart)]


def test_a_reply_that_ends_in_blocks_calls_tools_after_its_text() -> None:
    text, first, second = read_calls(f"I look.\n{block()}\n{block('finish', '{}')}\n")
    assert text == TextPart(text="I look.\n")
    assert isinstance(first, ToolUsePart)
    assert isinstance(second, ToolUsePart)
    assert (first.tool_use.call_id, first.tool_use.tool, first.tool_use.arguments) == (
        "call_0", "exec", '{"command": "ls"}',
    )  # fmt: skip
    assert (second.tool_use.call_id, second.tool_use.tool) == ("call_1", "finish")


@pytest.mark.parametrize("arguments", ['{"a": {"b": [1, {}]}}', '{"text": "} </tool_call> }"}', '{ "a" :1 }', "{}"])
def test_arguments_are_kept_as_they_are_written(arguments: str) -> None:
    found = calls(block(arguments=arguments))
    assert found in ([("exec", arguments)], [])
    if "</tool_call>" not in arguments:
        assert found == [("exec", arguments)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Just text.",
        "<tool_call>",
        '<tool_call>{"name": "exec"}</tool_call>',
        '<tool_call>{"arguments": {}, "name": "exec"}</tool_call>',
        '<tool_call>{"name": "exec", "arguments": "ls"}</tool_call>',
        '<tool_call>{"name": "exec", "arguments": {bad}}</tool_call>',
        '<tool_call>{"name": "exec", "arguments": {}, "x": 1}</tool_call>',
        '<tool_call>{"name": 7, "arguments": {}}</tool_call>',
        f"{block()} and then some",
        f"{block()}<tool_call>",
        '<tool_call>{"name": "exec", "arguments": {}}',
        block() * 1_001,
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert read_calls(text) == ((TextPart(text=text),) if text else ())


def test_a_huge_reply_is_read_in_time() -> None:
    text = "<tool_call>" + '{"name": "exec", "arguments": {' * 30_000
    assert read_calls(text) == (TextPart(text=text),)


@given(st.text(), st.dictionaries(st.text(), st.integers() | st.text()))
def test_what_is_told_of_a_call_is_what_was_read_of_it(text: str, arguments: dict[str, Any]) -> None:
    import json

    written = text.replace("<tool_call>", "") + block(arguments=json.dumps(arguments))
    parts = read_calls(written)
    message = ChatMessage(role="assistant", content=parts)
    (told,) = tell_tools(ChatRequest(model="m", system="", messages=(message,))).messages
    assert told.content == (TextPart(text=written),)


def test_tools_stand_in_the_system_text_and_results_in_messages_of_the_user() -> None:
    use = ToolUsePart(tool_use=ToolUse(call_id="a", tool="exec", arguments='{"command": "ls"}'))
    result = ToolResultPart(tool_result=ToolAnswer(call_id="a", output="a.py", is_error=False))
    messages = (
        ChatMessage(role="assistant", content=(TextPart(text="I look.\n"), use, use)),
        ChatMessage(role="tool", content=(result, result)),
    )
    told = tell_tools(ChatRequest(model="m", system="Be brief.", messages=messages, tools=(TOOL,)))
    assert told.tools == ()
    assert told.system.startswith("Be brief.\n\nYou can call tools.")
    assert told.system.endswith('\n{"description":"Runs a command.","name":"exec","parameters":{"type":"object"}}')
    said, answered = told.messages
    assert said.content == (TextPart(text=f"I look.\n{block()}\n{block()}"),)
    response = "<tool_response>\na.py\n</tool_response>"
    assert (answered.role, answered.content) == ("user", (TextPart(text=f"{response}\n{response}"),))
