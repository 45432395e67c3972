"""From a neutral request to what OpenAI-compatible endpoints read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pipeline.records.audit_content import (
    ContentPart,
    Image,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUse,
    ToolUsePart,
)
from pipeline.records.exchange import ChatMessage, ChatRequest, ToolSpec
from pipeline.records.provider_profile import ProviderProfile

_SAMPLING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "repeat_penalty": "repetition_penalty",
    "max_tokens": "max_tokens",
    "seed": "seed",
}
_OPENAI_HOST = "api.openai.com"

_CAPTURE: Mapping[str, Mapping[str, Any]] = {
    "vllm": {"logprobs": True, "top_logprobs": 0, "return_token_ids": True},
    "sglang": {"logprobs": True, "return_token_ids": True},
}
"""What makes an engine give token ids and log probabilities. SGLang gives the ids of a whole reply only."""


def chat_body(request: ChatRequest, model: str, always: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request for a chat completion.

    Args:
        request: what is asked.
        model: who is asked.
        always: members that are the same each time (`members_of`).

    Raises:
        ValueError: a part of a message cannot be sent, with what it is.
    """
    body: dict[str, Any] = {"model": model, "messages": chat_messages(request)}
    if request.tools:
        body["tools"] = chat_tools(request.tools)
    return {**body, **always}


def members_of(profile: ProviderProfile) -> dict[str, Any]:
    """What every request of a profile holds: sampling in the words of the endpoint, capture, the user's own members."""
    words = dict(_SAMPLING)
    if urlsplit(profile.base_url or "").hostname == _OPENAI_HOST:
        words["max_tokens"] = "max_completion_tokens"  # its reasoning models know no other
    sampling = {words[name]: value for name, value in profile.sampling.model_dump(exclude_none=True).items()}
    streaming = {"stream": True, "stream_options": {"include_usage": True}} if profile.stream else {}
    return {**sampling, **_CAPTURE.get(profile.kind, {}), **streaming, **profile.body}


def chat_tools(tools: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Tools as functions."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def count_calls(request: ChatRequest) -> int:
    """Tool calls in the conversation so far."""
    return sum(isinstance(part, ToolUsePart) for message in request.messages for part in message.content)


def chat_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """All messages, the system's first. Raises ValueError for a part that cannot be sent."""
    found: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.messages:
        if message.role == "assistant":
            found.append(_assistant(message))
        else:
            found += _said_to_the_model(message)
    return found


def _assistant(message: ChatMessage) -> dict[str, Any]:
    texts: list[str] = []
    reasoning: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, TextPart):
            texts.append(part.text)
        elif isinstance(part, ReasoningPart):
            reasoning.append(part.reasoning.text)
        elif isinstance(part, ToolUsePart):
            calls.append(_call(part.tool_use))
        else:
            raise ValueError(_unsent(part, message))
    found: dict[str, Any] = {"role": "assistant", "content": "".join(texts) if texts or not calls else None}
    if reasoning:
        found["reasoning_content"] = "".join(reasoning)
    if calls:
        found["tool_calls"] = calls
    return found


def _call(use: ToolUse) -> dict[str, Any]:
    return {"id": use.call_id, "type": "function", "function": {"name": use.tool, "arguments": use.arguments}}


def _said_to_the_model(message: ChatMessage) -> list[dict[str, Any]]:
    """A message of the user, or one a tool result; images of tools follow as one of the user."""
    results: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, ToolResultPart):
            answer = part.tool_result
            results.append({"role": "tool", "tool_call_id": answer.call_id, "content": answer.output})
        elif isinstance(part, TextPart):
            said.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            said.append(_image(part.image))
        else:
            raise ValueError(_unsent(part, message))
    return [*results, {"role": "user", "content": _content(said)}] if said or not results else results


def _content(said: Sequence[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Text alone as text: not every endpoint, nor every chat template, reads a list."""
    if all(each["type"] == "text" for each in said):
        return "\n".join(each["text"] for each in said)
    return list(said)


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}"}}


def _unsent(part: ContentPart, message: ChatMessage) -> str:
    name = next(iter(part)) if isinstance(part, dict) else next(iter(type(part).model_fields))
    return f"a part {name!r} of a message of role {message.role} cannot be sent"
