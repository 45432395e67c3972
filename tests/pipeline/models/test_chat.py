"""Chat completions: what is sent, and what is made of the answer, in one piece and streamed."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from pipeline.records.audit_content import (
    Image,
    ImagePart,
    Reasoning,
    ReasoningPart,
    TextPart,
    ToolAnswer,
    ToolResultPart,
    ToolUse,
    ToolUsePart,
)
from pipeline.records.exchange import ChatMessage, ToolSpec

TOOL = ToolSpec(name="exec", description="Runs a command.", parameters={"type": "object", "properties": {}})
CONVERSATION = (
    ChatMessage(role="user", content=(TextPart(text="Mend it."), TextPart(text="Now."))),
    ChatMessage(
        role="assistant",
        content=(
            ReasoningPart(reasoning=Reasoning(text="Look first.", signature="")),
            TextPart(text="I look."),
            ToolUsePart(tool_use=ToolUse(call_id="a", tool="exec", arguments='{"command": "ls"}')),
            ToolUsePart(tool_use=ToolUse(call_id="b", tool="exec", arguments="not JSON")),
        ),
    ),
    ChatMessage(
        role="tool",
        content=(ToolResultPart(tool_result=ToolAnswer(call_id="a", output="a.py", is_error=False)),),
    ),
    ChatMessage(
        role="tool",
        content=(
            ToolResultPart(tool_result=ToolAnswer(call_id="b", output="no JSON", is_error=True)),
            ImagePart(image=Image(call_id="b", media_type="image/png", data="aGk=")),
        ),
    ),
)


def test_a_conversation_is_sent_with_its_tools_calls_results_thoughts_and_images(kit: Any) -> None:
    request = kit.said(system="Be brief.", messages=CONVERSATION, tools=(TOOL,))
    _, server = kit.exchange(kit.answers(kit.chat()), request=request)
    body = server.seen[0].body
    assert (server.seen[0].path, body["model"]) == ("/chat/completions", "m")
    call = {"name": "exec", "arguments": '{"command": "ls"}'}
    broken = {"name": "exec", "arguments": "not JSON"}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Mend it.\nNow."},
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "Look first.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": call},
                {"id": "b", "type": "function", "function": broken},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "a.py"},
        {"role": "tool", "tool_call_id": "b", "content": "no JSON"},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}],
        },
    ]
    assert body["tools"] == [{"type": "function", "function": TOOL.model_dump()}]
    assert not {"stream", "logprobs", "return_token_ids", "temperature"} & set(body)


def test_calls_without_an_id_are_numbered_on_over_the_conversation(kit: Any) -> None:
    body = kit.chat()
    function = {"name": "exec", "arguments": "{}"}
    body["choices"][0]["message"] = {"tool_calls": [{"function": function}, {"function": function}]}
    completion, _ = kit.exchange(kit.answers(body), request=kit.said(messages=CONVERSATION))
    assert [part.tool_use.call_id for part in completion.reply.message.content] == ["call_2", "call_3"]


def test_sampling_and_further_members_are_sent(kit: Any) -> None:
    sampling = {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "repeat_penalty": 1.1, "max_tokens": 9, "seed": 7}
    completion, server = kit.exchange(
        kit.answers(kit.chat()), sampling=sampling, body={"chat_template_kwargs": {"enable_thinking": False}}
    )
    body = server.seen[0].body
    expected = {**sampling, "repetition_penalty": 1.1, "chat_template_kwargs": {"enable_thinking": False}}
    del expected["repeat_penalty"]
    assert {name: body.get(name) for name in expected} == expected
    assert completion.sampling.model_dump(exclude_none=True) == sampling


def test_the_requests_model_goes_before_the_profiles(kit: Any) -> None:
    _, server = kit.exchange(kit.answers(kit.chat()), request=kit.said(model="other"))
    assert server.seen[0].body["model"] == "other"


def test_a_part_that_cannot_be_sent_is_told_and_nothing_is_sent(kit: Any) -> None:
    message = ChatMessage(role="user", content=({"video": {"url": "x"}},))
    completion, server = kit.exchange(kit.answers(kit.chat()), request=kit.said(messages=(message,)))
    assert completion.reply.failed.error == "config"
    assert completion.reply.failed.reason == "a part 'video' of a message of role user cannot be sent"
    assert server.seen == []


def test_half_a_surrogate_pair_is_told_and_nothing_is_sent(kit: Any) -> None:
    completion, server = kit.exchange(kit.answers(kit.chat()), request=kit.said("\ud83d"))
    assert completion.reply.failed.error == "config"
    assert server.seen == []


def test_an_answer_is_read_with_usage_model_and_id(kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers(kit.chat("Done.")))
    assert completion.reply.message.content == (TextPart(text="Done."),)
    assert completion.reply.stop.reason == "stop"
    assert completion.usage.model_dump() == {
        "input_tokens": 11, "output_tokens": 3, "cache_creation_input_tokens": None, "cache_read_input_tokens": 4,
    }  # fmt: skip
    assert (completion.model, completion.request_id) == ("m-1", "c1")
    assert (completion.tokens, completion.logprobs_mode, completion.retried) == (None, None, ())


def answer(kit: Any, message: dict[str, Any], finish: Any = "stop") -> Any:
    body = kit.chat()
    body["choices"][0] |= {"message": {"role": "assistant", **message}, "finish_reason": finish}
    return kit.exchange(kit.answers(body))[0]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_are_kept_before_the_text(field: str, kit: Any) -> None:
    completion = answer(kit, {"content": "4", field: "2 + 2"})
    assert completion.reply.message.content == (
        ReasoningPart(reasoning=Reasoning(text="2 + 2", signature="")),
        TextPart(text="4"),
    )


def test_content_in_parts_is_one_text(kit: Any) -> None:
    parts = [{"type": "text", "text": "Do"}, {"type": "text", "text": "ne."}]
    assert answer(kit, {"content": parts}).reply.message.content == (TextPart(text="Done."),)


def test_a_refusal_is_text_and_the_reason(kit: Any) -> None:
    completion = answer(kit, {"content": None, "refusal": "I cannot."})
    assert completion.reply.message.content == (TextPart(text="I cannot."),)
    assert (completion.reply.stop.reason, completion.reply.stop.explanation) == ("refusal", "I cannot.")


@pytest.mark.parametrize(
    "finish, reason, category",
    [
        ("stop", "stop", ""),
        ("length", "length", ""),
        ("tool_calls", "tool_calls", ""),
        ("function_call", "tool_calls", ""),
        ("content_filter", "refusal", "content_filter"),
        ("abort", "abort", ""),
        (None, "stop", ""),
    ],
)
def test_finish_reasons_are_told_in_our_words(finish: Any, reason: str, category: str, kit: Any) -> None:
    stop = answer(kit, {"content": "x"}, finish).reply.stop
    assert (stop.reason, stop.category) == (reason, category)


def test_half_a_surrogate_pair_in_an_answer_is_replaced(kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers('{"choices": [{"message": {"content": "a\\ud83d"}}]}'))
    assert completion.reply.message.content == (TextPart(text="a\ufffd"),)


def test_a_stream_gives_the_same_as_one_piece(kit: Any) -> None:
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "exec", "arguments": ""}}
    events = [
        ": ping\n\n",
        kit.delta(role="assistant", content=""),
        kit.delta(reasoning_content="2 "),
        kit.delta(reasoning_content="+ 2"),
        kit.delta(content="I lo"),
        kit.delta(content="ok."),
        kit.delta(tool_calls=[call]),
        kit.delta(tool_calls=[{"index": 0, "function": {"arguments": '{"command":'}}]),
        kit.delta(tool_calls=[{"index": 1, "id": "b", "function": {"name": "finish", "arguments": "{}"}}]),
        kit.delta(tool_calls=[{"index": 0, "function": {"arguments": ' "ls"}'}}]),
        kit.delta("tool_calls"),
        {"id": "c1", "model": "m-1", "choices": [], "usage": kit.chat()["usage"]},
        "data: [DONE]\n\n",
    ]
    calls = [
        {"id": "a", "type": "function", "function": {"name": "exec", "arguments": '{"command": "ls"}'}},
        {"id": "b", "type": "function", "function": {"name": "finish", "arguments": "{}"}},
    ]
    streamed, server = kit.exchange(kit.streams(*events), stream=True)
    whole = answer(kit, {"content": "I look.", "reasoning_content": "2 + 2", "tool_calls": calls}, "tool_calls")
    assert server.seen[0].body["stream_options"] == {"include_usage": True}
    without_time = {"inference_ms": 0}
    assert streamed.model_copy(update=without_time) == whole.model_copy(update=without_time)


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\n", ""])
def test_a_stream_may_end_its_lines_in_either_way_and_leave_out_the_last_words(end: str, kit: Any) -> None:
    last = "data: " + json.dumps(kit.delta("stop", content="ne.")) + end
    completion, _ = kit.exchange(kit.streams(kit.delta(content="Do"), last), stream=True)
    assert completion.reply.message.content == (TextPart(text="Done."),)


def test_events_are_found_wherever_the_stream_is_cut_into_pieces() -> None:
    import asyncio

    from pipeline.models.chat_stream import events

    data = b'data: {"a": "\xc3\xa9"}\r\n\r\ndata: one\ndata: two\n\nid: 3\n: ping\n\ndata: [DONE]'

    async def pieces(size: int) -> Any:
        for start in range(0, len(data), size):
            yield data[start : start + size]

    async def gather(size: int) -> list[bytes]:
        return [event async for event in events(pieces(size))]

    expected = ['{"a": "é"}'.encode(), b"one\ntwo", b"[DONE]"]
    assert all(asyncio.run(gather(size)) == expected for size in range(1, len(data) + 1))


def test_an_endpoint_that_does_not_stream_is_understood_all_the_same(kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers(kit.chat("Done.")), stream=True)
    assert completion.reply.message.content == (TextPart(text="Done."),)


def test_a_stream_may_answer_with_nothing(kit: Any) -> None:
    completion, _ = kit.exchange(kit.streams(kit.delta("stop")), stream=True)
    assert completion.reply.message.content == ()


def test_without_aiohttp_the_package_imports_and_says_what_to_install(
    kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    from pipeline.errors import InputError

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "aiohttp" else find(name))
    with pytest.raises(InputError, match=r"provider 'p' needs aiohttp: `pip install 'assay\[models\]'`"):
        kit.open(kit.profile_of("http://127.0.0.1:1"), None, {})


def test_importing_the_package_loads_no_aiohttp() -> None:
    import subprocess

    code = (
        "import sys, pipeline.models.open_provider, pipeline.models.profiles, pipeline.models.scripted\n"
        "print('aiohttp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr
