"""Answers a session from a capture alone: no request is sent, no tool is called, and what does not fit is refused."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterator, Mapping
from typing import Any, NoReturn, cast

from pydantic import ValidationError

from pipeline.records.audit_event import PAYLOADS
from pipeline.records.audit_session import AgentComplete, SessionSpawn
from pipeline.records.audit_turn import PlanUpdate, PolicySelf
from pipeline.records.audit_wire import Payload
from pipeline.records.capture import Capture, ProviderExchange, ToolExchange
from pipeline.records.exchange import ChatRequest, Completion
from pipeline.records.refusals import ReplayRefusal
from pipeline.session.agent.ending import Ending
from pipeline.session.agent.recorder import arguments_digest
from pipeline.session.decode import UndecodableError
from pipeline.session.replay_capture import refused
from pipeline.session.tools.tool import Effects, ToolOutcome

EFFECTS: Mapping[str, Collection[str]] = {
    "spawn_agent": (SessionSpawn.wire_name, AgentComplete.wire_name),
    "update_plan": (PlanUpdate.wire_name,),
    "restrict_self": (PolicySelf.wire_name,),
}
"""What calls leave in a log beside their results."""


class CapturedAnswers:
    """A provider, the tools and the clock of one session, as they were recorded.

    Args:
        capture: what was recorded.
        version: of this program; a capture of another one may differ for that reason alone.
    """

    def __init__(self, capture: Capture, version: str) -> None:
        self._left = list(reversed(capture.exchanges))
        self._stopped, self._n_exchanges = capture.stopped, len(capture.exchanges)
        recorded = capture.producer.version
        self._note = "" if recorded == version else f"; it was recorded by another version ({recorded})"

    async def complete(self, request: ChatRequest) -> Completion:
        """The recorded answer to a request.

        Raises:
            ReplayError: the request is not the one that comes next.
        """
        digest = request.digest()

        def is_it(exchange: ProviderExchange | ToolExchange) -> bool:
            return isinstance(exchange, ProviderExchange) and exchange.request_sha256 == digest

        if not self._left:
            self._refuse(ReplayRefusal.EXHAUSTED, "the session asks the model once more than was recorded")
        following = self._left[-1]
        if not is_it(following):
            self._refuse_other(is_it, f"a request differs at {_difference(request, following)}")
        return _completion(cast(ProviderExchange, self._left.pop()))

    def ending(self) -> Ending | None:
        """How the session was ended from outside, where it was; its clock does not run again."""
        stopped = self._stopped
        if stopped is None or self._n_exchanges - len(self._left) < stopped.after:
            return None
        return Ending(stopped.reason, stopped.detail, is_from_outside=True)

    async def answer(self, work: Coroutine[Any, Any, Completion]) -> Completion:
        """The recorded answer is there at once."""
        return await work

    async def close(self) -> None:
        """There is nothing to let go of."""

    async def call(self, call_id: str, tool: str, arguments: str, effects: Effects, /) -> ToolOutcome:
        """The recorded result of a call, its effects restored.

        Raises:
            ReplayError: the call is not the one that comes next.
        """
        wanted = (call_id, tool, arguments_digest(arguments))

        def is_it(exchange: ProviderExchange | ToolExchange) -> bool:
            return isinstance(exchange, ToolExchange) and _key(exchange) == wanted

        if not self._left:
            self._refuse(ReplayRefusal.TRUNCATED, f"it ends before the call {call_id} of {tool} is answered")
        if not is_it(self._left[-1]):
            self._refuse_other(is_it, f"the call {call_id} of {tool} is not the one that comes next")
        exchange = cast(ToolExchange, self._left.pop())
        for event in self._events(exchange):
            effects.append(event)
        for use in exchange.hosts:
            effects.connected(use.host, use.granted, use.refused)
        return ToolOutcome(exchange.result, exchange.is_error, exchange.truncated)

    def check_all_used(self, ending: Ending) -> None:
        """Whether the session asked for all that was recorded, and ended as it did.

        Raises:
            ReplayError: some of it was not asked for.
        """
        if self._stopped is not None and not ending.is_from_outside:
            self._refuse(ReplayRefusal.UNUSED, f"the session ended by itself as {ending.reason}, and not as it did")
        if self._left:
            number = self._left[-1].sequence
            self._refuse(ReplayRefusal.UNUSED, f"the session ended before exchange {number} was asked for")

    def _events(self, exchange: ToolExchange) -> Iterator[Payload]:
        """The effects of a call, which are only such as its tool has."""
        for event in exchange.events:
            for name, raw in event.items():
                if name not in EFFECTS.get(exchange.tool, ()):
                    self._refuse(ReplayRefusal.DIVERGED, f"{exchange.tool} has no effect {name!r}{_at(exchange)}")
                try:
                    yield PAYLOADS[name].from_wire(raw)
                except (ValidationError, UndecodableError, TypeError, AttributeError):
                    self._refuse(ReplayRefusal.DIVERGED, f"the effect {name!r} is not of its form{_at(exchange)}")

    def _refuse_other(self, is_it: Any, told: str) -> NoReturn:
        later = next((exchange for exchange in reversed(self._left) if is_it(exchange)), None)
        if later is not None:
            place, number = self._left[-1].sequence, later.sequence
            self._refuse(ReplayRefusal.REORDERED, f"exchange {number} is asked for where exchange {place} stands")
        self._refuse(ReplayRefusal.DIVERGED, f"{told}, at exchange {self._left[-1].sequence}")

    def _refuse(self, refusal: ReplayRefusal, told: str) -> NoReturn:
        raise refused(refusal, f"{told}{self._note}")


def _at(exchange: ToolExchange) -> str:
    return f", at exchange {exchange.sequence}"


def _key(exchange: ToolExchange) -> tuple[str, str, str]:
    return exchange.call_id, exchange.tool, exchange.arguments_sha256


def _completion(exchange: ProviderExchange) -> Completion:
    return Completion(
        reply=exchange.response,
        usage=exchange.usage,
        cost=exchange.cost,
        price_table_version=exchange.price_table_version,
        tokens=exchange.tokens,
        sampling=exchange.sampling,
        logprobs_mode=exchange.logprobs_mode,
        weight_versions=exchange.weight_versions,
        model=exchange.model,
        request_id=exchange.request_id,
        inference_ms=exchange.inference_ms,
        retried=exchange.retried,
    )


def _difference(request: ChatRequest, recorded: ProviderExchange | ToolExchange) -> str:
    """The first field in which a request is another than the recorded one."""
    if isinstance(recorded, ToolExchange):
        return f"its kind: a call of {recorded.tool} was recorded there"
    return _first_difference(request.model_dump(mode="json"), recorded.request.model_dump(mode="json"), "request")


def _first_difference(ours: Any, theirs: Any, path: str) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in dict.fromkeys([*ours, *theirs]):
            if ours.get(key) != theirs.get(key):
                return _first_difference(ours.get(key), theirs.get(key), f"{path}.{key}")
    if isinstance(ours, list) and isinstance(theirs, list):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one != other:
                return _first_difference(one, other, f"{path}[{place}]")
        if len(ours) != len(theirs):
            return f"{path}: {len(ours)} entries, recorded {len(theirs)}"
    return f"{path}: {_shown(ours)}, recorded {_shown(theirs)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
