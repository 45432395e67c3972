"""Rate limits as workers and the desk speak of them: the rule, what is asked, what is answered."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class LimitRule(NamedTuple):
    """How fast those who share a key may be, together."""

    key: str
    """Names what is limited, such as an endpoint and the account that pays for it."""
    calls_per_s: float | None = None
    """None: as many as the units allow."""
    units_per_s: float | None = None
    """Of whatever is counted beside calls, such as tokens; None: they are not counted."""
    units_per_call: float = 0.0
    """What a call is thought to take, until it is known."""

    def divided(self, by: int) -> LimitRule:
        """The rule of one of so many who do not speak to each other."""
        calls = None if self.calls_per_s is None else self.calls_per_s / by
        units = None if self.units_per_s is None else self.units_per_s / by
        return self._replace(calls_per_s=calls, units_per_s=units)


class Refusal(NamedTuple):
    """The endpoint said that it gets too many calls (status 429)."""

    call_age_s: float
    """Seconds since the call began: one that began before the pace was cut says nothing new."""
    pause_s: float = 0.0
    """Nobody may call for so long; 0: the endpoint did not say."""


class PermitRequest(NamedTuple):
    """What a worker wants of a key, and what it has learnt. All times are from now: clocks are not compared."""

    rule: LimitRule
    client: str
    """Names who asks; it keeps its place in the queue under this name."""
    wanted: int
    """Permits; 0: it has something to tell only."""
    units_owed: float = 0.0
    """Units that calls took beyond what they were thought to take; below 0: they took less."""
    refusals: tuple[Refusal, ...] = ()
    pause_s: float = 0.0
    """The pause that the client knows of, for a desk that does not."""


class PermitAnswer(NamedTuple):
    """Permits, each for one call that begins at its time or soon after it; those not used then are void."""

    permits: int
    first_in_s: float
    """Seconds until the first may be used; below 0: at once, and the next ones are earlier too."""
    spacing_s: float
    """Between one and the next."""
    ask_again_in_s: float
    """Where no permit is given: when to come back."""
    pause_s: float
    """How long nobody may call: permits in hand are void."""


class LimitDesk(Protocol):
    """Hands out permits. May raise anything where it cannot be reached; it answers within seconds in any case."""

    def ask(self, request: PermitRequest) -> PermitAnswer:
        """Permits, as many as fit now: none to all that are wanted."""
        ...
