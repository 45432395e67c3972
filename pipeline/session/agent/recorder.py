"""Keeps what a session exchanges with its model and its tools, for its capture; and the effects of a call, for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pipeline.records.audit_session import NetworkConnection
from pipeline.records.audit_wire import Payload
from pipeline.records.capture import Exchange, HostUse, ProviderExchange, ToolExchange
from pipeline.records.digest import digest_bytes
from pipeline.records.exchange import ChatRequest, Completion
from pipeline.session.tools.tool import ToolOutcome


class Log(Protocol):
    """Where events go: the writer of a log, or what stands in for one."""

    def append(self, payload: Any) -> int:
        """Write an event, and return its id."""
        ...


class HostCounts:
    """The connections of a session, by host, in the order of the first."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def add(self, host: str, granted: int, refused: int) -> None:
        """More connections."""
        counts = self._counts.setdefault(host, [0, 0])
        counts[0] += granted
        counts[1] += refused

    def uses(self) -> tuple[HostUse, ...]:
        """Every host."""
        return tuple(HostUse(host=host, granted=granted, refused=no) for host, (granted, no) in self._counts.items())

    def events(self) -> tuple[NetworkConnection, ...]:
        """One a host."""
        return tuple(NetworkConnection(host=use.host, granted=use.granted, refused=use.refused) for use in self.uses())


class CallEffects:
    """What one call leaves in the log beside its result, and the hosts that it reached.

    Args:
        log: takes each effect at once.
        seen: is told of each effect, too.
    """

    def __init__(self, log: Log, seen: Callable[[Payload], object]) -> None:
        self.events: list[Payload] = []
        self.hosts = HostCounts()
        self._log, self._seen = log, seen

    def append(self, event: Payload) -> None:
        """Write an event, and remember it."""
        self._log.append(event)
        self.events.append(event)
        self._seen(event)

    def connected(self, host: str, granted: int, refused: int) -> None:
        """Remember connections to a host."""
        self.hosts.add(host, granted, refused)


class Recorder:
    """The exchanges of one session, in order."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def provider(self, request: ChatRequest, completion: Completion) -> None:
        """A request and what came of it."""
        self.exchanges.append(
            ProviderExchange(
                sequence=len(self.exchanges),
                request_sha256=request.digest(),
                request=request,
                response=completion.reply,
                usage=completion.usage,
                tokens=completion.tokens,
                sampling=completion.sampling,
                logprobs_mode=completion.logprobs_mode,
                weight_versions=completion.weight_versions,
                cost=completion.cost,
                price_table_version=completion.price_table_version,
                model=completion.model,
                request_id=completion.request_id,
                inference_ms=completion.inference_ms,
                retried=completion.retried,
            )
        )

    def tool(self, call_id: str, tool: str, arguments: str, outcome: ToolOutcome, effects: CallEffects) -> None:
        """A call and what it gave."""
        self.exchanges.append(
            ToolExchange(
                sequence=len(self.exchanges),
                call_id=call_id,
                tool=tool,
                arguments_sha256=arguments_digest(arguments),
                result=outcome.result,
                is_error=outcome.is_error,
                truncated=outcome.truncated,
                events=tuple({event.wire_name: event.to_wire()} for event in effects.events),
                hosts=effects.hosts.uses(),
            )
        )


def arguments_digest(arguments: str) -> str:
    """By which a replay recognises a call."""
    return digest_bytes(arguments.encode("utf-8", "surrogatepass"))
