"""From what OpenAI-compatible endpoints answer to a neutral reply."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from pipeline.models.json_values import count_of, name_of, object_of, objects_of, text_of
from pipeline.models.trouble import Trouble, not_an_answer, of_status
from pipeline.records.audit_content import ContentPart, Reasoning, ReasoningPart, TextPart, ToolUse, ToolUsePart
from pipeline.records.exchange import ChatMessage, Stop, TokenUsage

MAX_TEXT_CHARS = 4 * 1024 * 1024  # of one message: about a million tokens, more than any model gives at once
MAX_CALLS = 1_000  # of one message

_REASONS = {"function_call": "tool_calls", "content_filter": "refusal"}
_REFUSAL = "refusal"
_STOPS = {reason: Stop(reason=reason) for reason in ("stop", "tool_calls", "length")}


class Reply(NamedTuple):
    """What an endpoint answered, but for tokens."""

    message: ChatMessage
    stop: Stop
    usage: TokenUsage
    model: str
    request_id: str


def read_reply(body: dict[str, Any], n_calls: int = 0) -> Reply:
    """A chat completion.

    Args:
        body: as it came.
        n_calls: calls before it in the conversation: one that comes without an id is given a number behind them.

    Raises:
        Trouble: it is none, or an error that came with status 200.
    """
    if body.get("error"):
        raise told_error(body["error"])
    choice = first_choice(body)
    message = object_of(choice.get("message"), "message")
    if not message:
        raise not_an_answer("the answer has no message")
    content = parts_of(message, n_calls)
    return Reply(
        ChatMessage(role="assistant", content=content),
        _stop(choice.get("finish_reason"), message, content),
        usage_of(body.get("usage")),
        name_of(body.get("model")),
        name_of(body.get("id")),
    )


def first_choice(body: dict[str, Any]) -> dict[str, Any]:
    """The one choice. Raises Trouble where there is none."""
    choices = objects_of(body.get("choices"), "choices")
    if not choices:
        raise not_an_answer("the answer has no choices")
    return choices[0]


def told_error(error: Any) -> Trouble:
    """An error in the body of an answer or in a stream: some endpoints have sent their status by then."""
    code = error.get("code") if isinstance(error, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    if isinstance(code, int) and 400 <= code <= 599:
        return of_status(code, str(said), None)
    return not_an_answer(f"the endpoint answered with an error: {str(said)[:1000]}")


def parts_of(message: dict[str, Any], n_calls: int = 0) -> tuple[ContentPart, ...]:
    """Thoughts, text and calls, in this order; a refusal is text.

    Raises:
        Trouble: something else than text stands there, or more of it, or of calls, than is read.
    """
    parts: list[ContentPart] = []
    thoughts = text_of(message.get("reasoning_content") or message.get("reasoning"), "reasoning_content")
    if thoughts:
        parts.append(ReasoningPart(reasoning=Reasoning(text=thoughts, signature="")))
    text = _content(message.get("content")) or text_of(message.get("refusal"), "refusal")
    if text:
        parts.append(TextPart(text=text))
    asked = objects_of(message.get("tool_calls"), "tool_calls")
    if len(asked) > MAX_CALLS:
        raise not_an_answer(f"the answer has {len(asked):,} tool calls; at most {MAX_CALLS:,} are read")
    calls = [_call(each, n_calls + place) for place, each in enumerate(asked)]
    if not calls and message.get("function_call"):
        calls = [_call({"function": message["function_call"]}, n_calls)]
    n_chars = len(thoughts) + len(text) + sum(len(call.tool_use.arguments) for call in calls)
    if n_chars > MAX_TEXT_CHARS:
        raise too_long(n_chars)
    return (*parts, *calls)


def too_long(n_chars: int) -> Trouble:
    """More text than any model gives."""
    return not_an_answer(f"the answer has {n_chars:,} characters of text or more; at most {MAX_TEXT_CHARS:,} are read")


def usage_of(value: Any) -> TokenUsage:
    """What was used, as far as it is told; `input_tokens` are all of the prompt, kept ones included."""
    usage = value if isinstance(value, dict) else {}
    details = usage.get("prompt_tokens_details")
    return TokenUsage(
        input_tokens=count_of(usage.get("prompt_tokens")),
        output_tokens=count_of(usage.get("completion_tokens")),
        cache_read_input_tokens=count_of(details.get("cached_tokens")) if isinstance(details, dict) else None,
    )


def _content(value: Any) -> str:
    if isinstance(value, list):
        parts = objects_of(value, "content")
        return "".join(text_of(each.get("text"), "content") for each in parts if each.get("type") == "text")
    return text_of(value, "content")


def _call(call: dict[str, Any], place: int) -> ToolUsePart:
    function = object_of(call.get("function"), "function of a tool call")
    arguments = function.get("arguments")
    if isinstance(arguments, dict | list):  # some engines forget to write them as text
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolUsePart(
        tool_use=ToolUse(
            call_id=text_of(call.get("id"), "id of a tool call") or f"call_{place}",
            tool=text_of(function.get("name"), "name of a tool call"),
            arguments=text_of(arguments, "arguments of a tool call"),
        )
    )


def _stop(found: Any, message: dict[str, Any], content: tuple[ContentPart, ...]) -> Stop:
    refusal = text_of(message.get("refusal"), "refusal")
    if refusal:
        return Stop(reason=_REFUSAL, explanation=refusal)
    reason = text_of(found, "finish_reason") or "stop"
    if reason == "content_filter":
        return Stop(reason=_REFUSAL, category=reason)
    if reason == "stop" and any(isinstance(part, ToolUsePart) for part in content):
        reason = "tool_calls"
    reason = _REASONS.get(reason, reason)
    return _STOPS.get(reason) or Stop(reason=reason)
