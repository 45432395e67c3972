"""How often, how fast and how many at once: the three policies of a function. Carries none of them out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

SECONDS_PER = {"second": 1, "minute": 60, "hour": 3600}


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
    """At most `rate` calls in a second, minute or hour over the whole run. An int n stands for n a second."""

    rate: float
    per: str = "second"
    key: str | None = None
    """Functions of one key share one limit; default: the function's own."""

    def __post_init__(self) -> None:
        _number("rate", self.rate, least=0.0)
        if self.rate == 0:
            raise ValueError("rate must be above 0")
        if self.per not in SECONDS_PER:
            raise ValueError(f"per must be one of {', '.join(SECONDS_PER)}, found {self.per!r}")

    @property
    def per_second(self) -> float:
        """The rate in calls a second."""
        return self.rate / SECONDS_PER[self.per]

    def to_json(self) -> dict[str, Any]:
        """The policy as JSON."""
        return {"rate": self.rate, "per": self.per, "key": self.key}


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
