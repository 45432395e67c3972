"""Tools for models whose chat template has none: told in the system text, called in blocks of a fixed form.

A reply that ends in one or more blocks of this form calls tools; anything else is text::

    <tool_call>
    {"name": "exec", "arguments": {"command": "ls"}}
    </tool_call>
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pipeline.formats.canonical_json import canonical_json
from pipeline.formats.whole_text import whole_text
from pipeline.records.audit_content import (
    ContentPart,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUse,
    ToolUsePart,
)
from pipeline.records.exchange import ChatMessage, ChatRequest, ToolSpec

OPENING = "<tool_call>"

_BLOCK = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>\s*", re.DOTALL)
_CALL = re.compile(r'\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*(\{.*\})\s*\}', re.DOTALL)
_MAX_CHARS, _MAX_CALLS = 1_000_000, 1_000  # of a reply in which calls are looked for

_TOLD = """You can call tools. To call one, end your reply with a block of exactly this form, one block a call:
<tool_call>
{"name": "NAME", "arguments": {}}
</tool_call>
`arguments` is a JSON object. The results follow in the next message. The tools, one a line, with JSON Schemas:
"""


def tell_tools(request: ChatRequest) -> ChatRequest:
    """The request in words alone: tools in the system text, calls and results in the messages."""
    system = "\n\n".join(filter(None, [request.system, _told(request.tools)]))
    messages = tuple(_in_words(message) for message in request.messages)
    return ChatRequest(model=request.model, system=system, messages=messages)


def read_calls(text: str, first_id: int = 0) -> tuple[ContentPart, ...]:
    """The parts of a reply: text, then calls.

    Args:
        text: the whole reply.
        first_id: number of the first call, in the names that calls get.
    """
    start = text.find(OPENING) if len(text) <= _MAX_CHARS else -1
    calls = _calls(text, start, first_id) if start >= 0 else []
    said = text[:start] if calls else text
    return (*([TextPart(text=said)] if said else []), *calls)


def _told(tools: Sequence[ToolSpec]) -> str:
    lines = [canonical_json(tool.model_dump(mode="json")).decode() for tool in tools]
    return _TOLD + "\n".join(lines) if lines else ""


def _calls(text: str, start: int, first_id: int) -> list[ToolUsePart]:
    """The calls from `start` to the end of the text; none where anything else stands there."""
    calls: list[ToolUsePart] = []
    while start < len(text):
        block = _BLOCK.match(text, start)
        call = _CALL.fullmatch(block[1]) if block else None
        if block is None or call is None or len(calls) == _MAX_CALLS or not _is_object(call[2]):
            return []
        use = ToolUse(
            call_id=f"call_{first_id + len(calls)}",
            tool=whole_text(json.loads(call[1], strict=False)),
            arguments=call[2],
        )
        calls.append(ToolUsePart(tool_use=use))
        start = block.end()
    return calls


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _in_words(message: ChatMessage) -> ChatMessage:
    """Calls as the model writes them, so that its earlier tokens are found again where it keeps to the form."""
    texts: list[str] = []
    others: list[ContentPart] = []
    for part in message.content:
        if isinstance(part, ToolUsePart):
            use = part.tool_use
            between = "\n" if texts and texts[-1].endswith("</tool_call>") else ""
            texts.append(
                f'{between}<tool_call>\n{{"name": {json.dumps(use.tool)}, "arguments": {use.arguments}}}\n</tool_call>'
            )
        elif isinstance(part, ToolResultPart):
            between = "\n" if texts else ""
            texts.append(f"{between}<tool_response>\n{part.tool_result.output}\n</tool_response>")
        elif isinstance(part, TextPart):
            texts.append(part.text)
        elif not isinstance(part, ReasoningPart):
            others.append(part)
    return ChatMessage(
        role="assistant" if message.role == "assistant" else "user", content=(TextPart(text="".join(texts)), *others)
    )
