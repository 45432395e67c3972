"""One call with its rate limit, time limit and retries, sync and async."""

from __future__ import annotations

import asyncio
import functools
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pipeline.functions.deadline import call_within
from pipeline.functions.failures import CallTimeoutError, is_refusal, retry_after_s
from pipeline.functions.options import FunctionOptions
from pipeline.functions.policies import RetryPolicy
from pipeline.functions.rate import RateLimiter
from pipeline.functions.timings import CallMeter
from pipeline.functions.units import UnitReport

REFUSED = RetryPolicy(max_retries=8)  # where only a rate limit is asked for: 3 minutes of waits, if none is asked for
LONGEST_PAUSE_S = 600.0  # an endpoint that asks for more is out of quota: the row fails, the run goes on
SPREAD = 0.25  # of what an endpoint asked to wait is added at most, so that not all callers return at once


def is_bare(options: FunctionOptions) -> bool:
    """Whether nothing stands around a call: it is the function itself, and nobody measures it."""
    return options.timeout_s is None and options.rate_limit is None and _retry_policy(options) is None


def sync_call(
    function: Callable[..., Any], options: FunctionOptions, limiter: RateLimiter | None, meter: CallMeter
) -> Callable[..., Any]:
    """The function with its policies around it; the bare function where it has none."""
    if is_bare(options):
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        attempt = _Attempt(limiter, meter)
        if limiter is not None:
            attempt.waited_s = limiter.wait()

        def body() -> Any:
            with attempt.units.open():
                return function(*args, **kwargs)

        with attempt:
            return body() if options.timeout_s is None else call_within(body, options.timeout_s)

    policy = _retry_policy(options)
    if policy is None:
        return call
    from tenacity import Retrying

    return functools.partial(_retried, Retrying, policy, call, meter)


def async_call(
    function: Callable[..., Awaitable[Any]], options: FunctionOptions, limiter: RateLimiter | None, meter: CallMeter
) -> Callable[..., Awaitable[Any]]:
    """The coroutine function with its policies around it; the bare function where it has none."""
    if is_bare(options):
        return function

    async def call(*args: Any, **kwargs: Any) -> Any:
        attempt = _Attempt(limiter, meter)
        if limiter is not None:
            attempt.waited_s = await limiter.wait_async()
        with attempt, attempt.units.open():
            try:
                async with asyncio.timeout(options.timeout_s) as scope:
                    return await function(*args, **kwargs)
            except TimeoutError:
                if scope.expired():
                    raise CallTimeoutError(f"no result within {options.timeout_s:g} s (timeout_s)") from None
                raise

    policy = _retry_policy(options)
    if policy is None:
        return call
    from tenacity import AsyncRetrying

    return functools.partial(_retried, AsyncRetrying, policy, call, meter)


class _Attempt:
    """One try of a call, from its permit to its end."""

    def __init__(self, limiter: RateLimiter | None, meter: CallMeter) -> None:
        self.waited_s = 0.0
        self.units = UnitReport(0.0 if limiter is None else limiter.rule.units_per_call)
        self._limiter = limiter
        self._meter = meter

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        called_s = time.monotonic() - self._began
        is_refused = error is not None and is_refusal(error)
        self._meter.add(calls=1, refusals=int(is_refused), waited_s=self.waited_s, called_s=called_s)
        if self._limiter is None:
            return
        self._limiter.settle(self.units.owed)
        if error is not None and is_refused:
            asked_s = _asked_s(error)
            self._limiter.refuse(called_s, asked_s if asked_s <= LONGEST_PAUSE_S else 0.0)


def _asked_s(error: BaseException) -> float:
    return retry_after_s(error, time.time()) or 0.0


def _retry_policy(options: FunctionOptions) -> RetryPolicy | None:
    if options.retries is None:
        return REFUSED if options.rate_limit is not None else None
    return options.retries if options.retries.max_retries else None


def _retried(
    retrying: Callable[..., Any],
    policy: RetryPolicy,
    call: Callable[..., Any],
    meter: CallMeter,
    *args: Any,
    **kwargs: Any,
) -> Any:
    from tenacity import retry_if_exception, stop_after_attempt

    def wait_s(state: Any) -> float:
        asked_s = _asked_s(state.outcome.exception())
        return max(policy.wait_s(state.attempt_number, random.random()), asked_s * (1 + SPREAD * random.random()))

    attempts = retrying(
        stop=stop_after_attempt(policy.max_retries + 1),
        wait=wait_s,
        retry=retry_if_exception(functools.partial(_is_worth_another, policy)),
        before_sleep=lambda _state: meter.add(retries=1),
        reraise=True,
    )
    return attempts(call, *args, **kwargs)


def _is_worth_another(policy: RetryPolicy, error: BaseException) -> bool:
    if policy is REFUSED and not is_refusal(error):
        return False
    return isinstance(error, policy.retry_on) and _asked_s(error) <= LONGEST_PAUSE_S
