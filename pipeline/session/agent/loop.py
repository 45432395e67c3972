"""The loop: ask the model, call what it asks for, until one of them ends. Every step is an event of the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pipeline.models.provider import Provider
from pipeline.records.audit_content import (
    FreeCost,
    TextPart,
    ToolAnswer,
    ToolResultPart,
    ToolUse,
    ToolUsePart,
    UnknownCost,
)
from pipeline.records.audit_names import APPROVALS, Decision, EndReason
from pipeline.records.audit_turn import (
    ApprovalRequest,
    ApprovalResponse,
    Message,
    PolicySelf,
    ToolCall,
    ToolResult,
    Usage,
)
from pipeline.records.audit_wire import Payload
from pipeline.records.exchange import ChatMessage, ChatRequest, Completion, ToolSpec
from pipeline.session.agent.children import Agent
from pipeline.session.agent.ending import Ending, without_answer
from pipeline.session.agent.recorder import CallEffects, HostCounts, Log, Recorder
from pipeline.session.agent.repeats import Repeats
from pipeline.session.agent.standing import Standing
from pipeline.session.agent.stopping import Stopping
from pipeline.session.tools.finish import NAME as FINISH
from pipeline.session.tools.tool import Effects, ToolOutcome, failed
from pipeline.session.tools.toolbox import actions_of


class Tools(Protocol):
    """What answers calls: the tools themselves, or a capture."""

    async def call(self, call_id: str, tool: str, arguments: str, effects: Effects, /) -> ToolOutcome:
        """Answer one call."""
        ...


class AgentLoop:
    """One session of an agent, from its task to its end.

    Args:
        agent: what it works under.
        model: as the provider knows it.
        specs: of the tools, for the model.
        provider: answers requests.
        tools: answer calls.
        log: takes every event.
        stopping: its clock, and whoever may end it.
        standing: what it has spent and may do.
        without_secrets: takes secrets out of a request, before it is recorded or sent.
        on_turn: is told of each reply: how many there were, and the tools that it calls.
        on_error: is told of each call that gave an error: the tool, and what the model is told.
    """

    def __init__(
        self,
        agent: Agent,
        model: str,
        specs: Sequence[ToolSpec],
        provider: Provider,
        tools: Tools,
        log: Log,
        stopping: Stopping,
        standing: Standing,
        without_secrets: Callable[[ChatRequest], ChatRequest] = lambda request: request,
        on_turn: Callable[[int, Sequence[str]], object] = lambda _number, _tools: None,
        on_error: Callable[[str, str], object] = lambda _tool, _told: None,
    ) -> None:
        self.recorder = Recorder()
        self.hosts = HostCounts()
        self.spending, self.approvals = standing
        self.n_turns = 0
        self._config, self._chain, self._model, self._specs = agent.config, agent.chain, model, tuple(specs)
        self._provider, self._tools, self._log = provider, tools, log
        self._messages: list[ChatMessage] = []
        self._repeats = Repeats()
        self._stopping, self._without_secrets = stopping, without_secrets
        self._on_turn, self._on_error = on_turn, on_error

    async def run(self, task: str) -> Ending:
        """Work on a task. Raises nothing but `asyncio.CancelledError`, and what the disk says of the log."""
        self._messages.append(ChatMessage(role="user", content=(TextPart(text=task),)))
        while True:
            ending = self._stopping.ending() or self._used_up() or await self._turn()
            if ending is not None:
                return ending

    def _used_up(self) -> Ending | None:
        limits = self._config.limits
        if self.n_turns >= limits.max_turns:
            return Ending(EndReason.TURN_LIMIT, f"{limits.max_turns} turns are used up")
        most, currency = limits.max_cost, limits.currency
        if most is not None and currency is not None and self.spending.would_exceed(most, currency):
            self._ask_for_more(f"{most:g} {currency}")
            return Ending(EndReason.BUDGET_REACHED, f"one more request could cost more than {most:g} {currency}")
        return None

    def _ask_for_more(self, budget: str) -> None:
        """As the format has it: somebody is asked, and nobody answers."""
        request = self._log.append(
            ApprovalRequest(
                action="budget.raise", summary=f"more than {budget}", detail="", reason="the budget is used up",
                agent_kind=self._config.agent_kind, spawn_chain=self._chain, timeout_at_ms=0, tool_call_id="",
            )
        )  # fmt: skip
        self._log.append(
            ApprovalResponse(request_id=request, decision=Decision.EXPIRED.value, responder="", action="budget.raise")
        )

    async def _turn(self) -> Ending | None:
        request = self._without_secrets(
            ChatRequest(
                model=self._model, system=self._config.prompt, messages=tuple(self._messages), tools=self._specs
            )
        )
        completion = await self._stopping.answer(self._provider.complete(request))
        self.recorder.provider(request, completion)
        self._log_usage(completion)
        message = completion.reply.message
        if message is None:
            return self._stopping.ending() or without_answer(completion.reply)
        self.n_turns += 1
        self._log.append(Message(role="assistant", content=message.content, model_alias=self._model))
        self._messages.append(message)
        stop = completion.reply.stop
        if stop is not None and stop.reason == "refusal":
            return Ending(EndReason.REFUSED_BY_MODEL, stop.explanation)
        calls = [part.tool_use for part in message.content if isinstance(part, ToolUsePart)]
        self._on_turn(self.n_turns, [call.tool for call in calls])
        text = "\n".join(part.text for part in message.content if isinstance(part, TextPart))
        if not calls:
            if not text.strip():
                return Ending(EndReason.EMPTY_RESPONSE, "the model said nothing")
            return Ending(EndReason.FINISHED, result=text)
        return await self._calls(calls)

    async def _calls(self, calls: Sequence[ToolUse]) -> Ending | None:
        """All calls of one reply, one after the other, so that each sees what the one before did."""
        ending = None
        for call in calls:
            outcome = await self._call(call)
            if call.tool == FINISH and not outcome.is_error:
                return Ending(EndReason.FINISHED, result=outcome.result)
            if self._repeats.add(call.tool, call.arguments):
                ending = Ending(EndReason.NO_PROGRESS, f"{call.tool} was called again and again")
        return ending

    async def _call(self, call: ToolUse) -> ToolOutcome:
        self._log.append(ToolCall(call_id=call.call_id, tool=call.tool, arguments=call.arguments))
        outcome = self._denied(call)
        if outcome is None and self._stopping.ending() is not None:
            outcome = failed("the session ends before this call")
        if outcome is None:
            effects = CallEffects(self._log, self._seen)
            outcome = await self._tools.call(call.call_id, call.tool, call.arguments, effects)
            self.recorder.tool(call.call_id, call.tool, call.arguments, outcome, effects)
            for use in effects.hosts.uses():
                self.hosts.add(use.host, use.granted, use.refused)
        if outcome.is_error:
            self._on_error(call.tool, outcome.result)
        self._log.append(
            ToolResult(
                call_id=call.call_id, output=outcome.result, is_error=outcome.is_error, truncated=outcome.truncated
            )
        )
        answer = ToolResultPart(
            tool_result=ToolAnswer(call_id=call.call_id, output=outcome.result, is_error=outcome.is_error)
        )
        self._log.append(Message(role="tool", content=(answer,)))
        self._messages.append(ChatMessage(role="tool", content=(answer,)))
        return outcome

    def _denied(self, call: ToolUse) -> ToolOutcome | None:
        """Put what a call does to the approvals; what the model is told where they deny it."""
        for action in actions_of(call.tool, call.arguments):
            decision = self.approvals.decide(action)
            self._log.append(
                ApprovalResponse(
                    request_id=0, decision=decision.value, responder="", action=action, tool_call_id=call.call_id
                )
            )
            if decision not in APPROVALS:
                return failed(f"{action} is denied by policy")
        return None

    def _seen(self, event: Payload) -> None:
        if isinstance(event, PolicySelf):
            self.approvals.restrict(event)

    def _log_usage(self, completion: Completion) -> None:
        """One event a request that was sent, those that had to be sent again as well."""
        for attempt in completion.retried:
            # A provider that answers with an error has sold nothing; of one that does not answer, that is not known.
            is_free = attempt.status is not None or isinstance(completion.cost, FreeCost)
            cost = FreeCost(free=True) if is_free else UnknownCost(unknown=True)
            self.spending.add(cost)
            self._log.append(
                Usage(cost=cost, model=completion.model, model_alias=self._model, inference_ms=attempt.inference_ms)
            )
        usage = completion.usage
        self.spending.add(completion.cost)
        self._log.append(
            Usage(
                input_tokens=usage.input_tokens or 0,
                output_tokens=usage.output_tokens or 0,
                cache_creation_input_tokens=usage.cache_creation_input_tokens or 0,
                cache_read_input_tokens=usage.cache_read_input_tokens or 0,
                cost=completion.cost,
                price_table_version=completion.price_table_version,
                model=completion.model,
                model_alias=self._model,
                request_id=completion.request_id,
                inference_ms=completion.inference_ms,
            )
        )
