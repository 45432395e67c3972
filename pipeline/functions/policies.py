"""How often, how fast and how many at once: the three policies of a function. Carries none of them out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

from pipeline.records.limits import LimitRule

SECONDS_PER = {"second": 1, "minute": 60, "hour": 3600}
LEAST_PER_S = 1 / 86_400  # one call a day


@dataclass(frozen=True)
class RetryPolicy:
    """How a failed call is made again. What is not set keeps the default; an int n stands for `exponential(n)`."""

    max_retries: int = 3
    """Calls after the first one."""
    initial_wait_seconds: float = 1.0
    backoff_multiplier: float = 2.0
    max_wait_seconds: float = 60.0
    jitter: bool = True
    """Each wait is cut by a random share of up to a half, so that callers do not return all at once."""
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    """Exceptions that are worth another call; others fail the row at once."""
    key: str | None = None
    """A label for the reader; retries share nothing between functions."""

    def __post_init__(self) -> None:
        _whole("max_retries", self.max_retries, least=0)
        for field in ("initial_wait_seconds", "backoff_multiplier", "max_wait_seconds"):
            _number(field, getattr(self, field), least=0.0)
        kinds = (self.retry_on,) if isinstance(self.retry_on, type) else tuple(self.retry_on)
        if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
            raise TypeError(f"retry_on must hold exception classes, found {self.retry_on!r}")
        object.__setattr__(self, "retry_on", kinds)

    @classmethod
    def exponential(cls, attempts: int = 3, **fields: Any) -> Self:
        """Up to `attempts` further calls, each wait twice the one before (or `backoff_multiplier` times)."""
        return cls(max_retries=attempts, **fields)

    @classmethod
    def linear(cls, attempts: int = 3, delay: float = 1.0, *, jitter: bool = False, **fields: Any) -> Self:
        """Up to `attempts` further calls, `delay` seconds apart."""
        wait: dict[str, Any] = {"initial_wait_seconds": delay, "backoff_multiplier": 1.0}
        wait["max_wait_seconds"] = max(delay, 60.0)
        return cls(max_retries=attempts, jitter=jitter, **wait, **fields)

    def wait_s(self, attempt: int, chance: float) -> float:
        """Seconds to wait after the failed call number `attempt` (from 1); `chance` in [0, 1) is the jitter's dice."""
        try:
            grown = self.initial_wait_seconds * self.backoff_multiplier ** (attempt - 1)
        except OverflowError:
            grown = self.max_wait_seconds
        wait = min(grown, self.max_wait_seconds)
        return wait * (1.0 - chance / 2) if self.jitter else wait

    def to_json(self) -> dict[str, Any]:
        """The policy as JSON; exception classes by their qualified names."""
        return {
            "max_retries": self.max_retries,
            "initial_wait_seconds": self.initial_wait_seconds,
            "backoff_multiplier": self.backoff_multiplier,
            "max_wait_seconds": self.max_wait_seconds,
            "jitter": self.jitter,
            "retry_on": [f"{kind.__module__}.{kind.__qualname__}" for kind in self.retry_on],
            "key": self.key,
        }


@dataclass(frozen=True)
class RateLimitPolicy:
    """At most `rate` calls and `units` in a second, minute or hour, over all workers of a cluster.

    An int n stands for n calls a second.
    """

    rate: float | None = None
    """Calls; None: as many as the units allow."""
    per: str = "second"
    key: str | None = None
    """Functions of one key share one limit, those of other runs on the cluster too; default: the function's own."""
    units: float | None = None
    """What is counted beside calls, such as tokens; None: nothing."""
    units_per_call: float | None = None
    """Units that a call is thought to take, until the function says it with `pipeline.report_units`."""

    def __post_init__(self) -> None:
        for field in ("rate", "units", "units_per_call"):
            if (value := getattr(self, field)) is not None:
                _number(field, value, least=0.0)
                if value == 0:
                    raise ValueError(f"{field} must be above 0")
        if self.rate is None and self.units is None:
            raise ValueError("a rate limit needs a rate (calls), or units, or both")
        if (self.units is None) != (self.units_per_call is None):
            raise ValueError("units and units_per_call go together: how many in all, and what a call usually takes")
        if not isinstance(self.per, str) or self.per not in SECONDS_PER:
            raise ValueError(f"per must be one of {', '.join(SECONDS_PER)}, found {self.per!r}")
        if self.key is not None and not isinstance(self.key, str):
            raise TypeError(f"key must be text, found {self.key!r}")
        if self.key is not None and not self.key.strip():
            raise ValueError(f"key must name what is limited, found {self.key!r}; leave it out for the function's own")
        self._check_pace()

    def _check_pace(self) -> None:
        if self.units is not None and self.units_per_call is not None and self.units_per_call > self.units:
            raise ValueError(
                f"units_per_call is {self.units_per_call:g}, more than the {self.units:g} units of a {self.per}: no "
                "call fits; give the units of a longer time"
            )
        if self.rate is not None and self.rate / SECONDS_PER[self.per] < LEAST_PER_S:
            raise ValueError(f"rate is {self.rate:g} calls per {self.per}, less than one a day")

    def rule(self, own_key: str) -> LimitRule:
        """The limit by the second; `own_key` names the function, where the policy has no key."""
        seconds = SECONDS_PER[self.per]
        return LimitRule(
            key=f"function {own_key}" if self.key is None else f"key {self.key}",
            calls_per_s=None if self.rate is None else self.rate / seconds,
            units_per_s=None if self.units is None else self.units / seconds,
            units_per_call=self.units_per_call or 0.0,
        )

    def to_json(self) -> dict[str, Any]:
        """The policy as JSON."""
        units = {} if self.units is None else {"units": self.units, "units_per_call": self.units_per_call}
        return {"rate": self.rate, "per": self.per, "key": self.key, **units}


@dataclass(frozen=True)
class ConcurrencyPolicy:
    """At most `max_concurrent` rows in flight over the whole run. An int n stands for n rows."""

    max_concurrent: int
    key: str | None = None
    """A label for the reader; each function has its own gate."""

    def __post_init__(self) -> None:
        _whole("max_concurrent", self.max_concurrent, least=1)

    def to_json(self) -> dict[str, Any]:
        """The policy as JSON."""
        return {"max_concurrent": self.max_concurrent, "key": self.key}


def _whole(field: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{field} must be an int, found {value!r}")
    if value < least:
        raise ValueError(f"{field} must be at least {least}, found {value}")


def _number(field: str, value: object, *, least: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{field} must be a number, found {value!r}")
    if not math.isfinite(value) or value < least:
        raise ValueError(f"{field} must be finite and at least {least:g}, found {value}")
