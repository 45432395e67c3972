"""A provider that answers from a script: the same answers, ids and faults each time, without a network or a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.models.costs import Pricing
from pipeline.models.redacted import Redactor
from pipeline.records.audit_content import (
    ContentPart,
    Reasoning,
    ReasoningPart,
    TextPart,
    ToolUse,
    ToolUsePart,
)
from pipeline.records.exchange import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    Completion,
    FailedReply,
    StatusError,
    Stop,
    TokenUsage,
)
from pipeline.records.script import ENDINGS, Fault, Script, ScriptedTurn, parse_script

_REASONS = {
    "connect": "the script says that nobody answers",
    "timeout": "the script says that no answer comes in time",
    "cut": "the script says that the stream ends early",
    "garbage": "the script says that what came is no answer",
}
_ERRORS: dict[str, Any] = {"connect": "connect", "timeout": "timeout", "cut": "cut", "garbage": "protocol"}


class ScriptedProvider:
    """Answers with the turns of a script, one a request, in the order in which it is asked.

    Args:
        script: the turns. A request after the last one fails with `config`.
        pricing: of the profile.
        redactor: takes secrets out of what the script says.
        sleep: waits for the delays of the script.
    """

    def __init__(
        self,
        script: Script,
        pricing: Pricing,
        redactor: Redactor,
        *,
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self._turns: Sequence[ScriptedTurn] = script.turns
        self._pricing = pricing
        self._redactor = redactor
        self._sleep = sleep
        self._asked = 0
        self._n_calls = 0

    async def complete(self, request: ChatRequest) -> Completion:
        """The next turn of the script."""
        place, self._asked = self._asked, self._asked + 1
        if place >= len(self._turns):
            reason = f"the script ends with turn {len(self._turns)}, and was asked for turn {place + 1}"
            return Completion(reply=ChatReply(failed=FailedReply(error="config", reason=reason)), model=request.model)
        turn = self._turns[place]
        message = ChatMessage(role="assistant", content=self._parts(turn))
        if turn.delay_s:
            await self._sleep(turn.delay_s)
        if turn.fault is not None:
            cost, table = self._pricing(request.model, TokenUsage())
            failed = Completion(
                reply=_failed(turn.fault, message), cost=cost, price_table_version=table, model=request.model
            )
            return self._redactor.completion(failed)
        cost, table = self._pricing(request.model, turn.usage)
        return self._redactor.completion(
            Completion(
                reply=ChatReply(message=message, stop=turn.stop or _stop(turn)),
                usage=turn.usage,
                cost=cost,
                price_table_version=table,
                tokens=turn.tokens,
                logprobs_mode=turn.logprobs_mode,
                weight_versions=turn.weight_versions,
                model=request.model,
                request_id=f"scripted-{place + 1}",
            )
        )

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _parts(self, turn: ScriptedTurn) -> tuple[ContentPart, ...]:
        parts: list[ContentPart] = []
        if turn.reasoning:
            parts.append(ReasoningPart(reasoning=Reasoning(text=turn.reasoning, signature="")))
        if turn.text:
            parts.append(TextPart(text=turn.text))
        for call in turn.tool_calls:
            self._n_calls += 1
            name = call.call_id or f"call-{self._n_calls}"
            parts.append(ToolUsePart(tool_use=ToolUse(call_id=name, tool=call.tool, arguments=call.arguments_text)))
        return tuple(parts)


def read_script(file: Path) -> Script:
    """The script in a file.

    Raises:
        InputError: it cannot be read, or is no script.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"{file}: the script cannot be read ({error.strerror or error}); scripted answers come from a file that "
            f"ends in {', '.join(ENDINGS)}: the profile's script, else the name of the model"
        ) from None
    return parse_script(data, str(file))


def _stop(turn: ScriptedTurn) -> Stop:
    return Stop(reason="tool_calls" if turn.tool_calls else "stop")


def _failed(fault: Fault, message: ChatMessage) -> ChatReply:
    if fault.status is not None:
        return ChatReply(
            status_error=StatusError(status=fault.status, body=fault.body, retry_after_s=fault.retry_after_s)
        )
    partial = message if fault.kind == "cut" and message.content else None
    return ChatReply(failed=FailedReply(error=_ERRORS[fault.kind], reason=_REASONS[fault.kind], partial=partial))
