"""One call with its rate limit, time limit and retries, sync and async."""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Awaitable, Callable
from typing import Any

from pipeline.functions.deadline import call_within
from pipeline.functions.failures import CallTimeoutError
from pipeline.functions.options import FunctionOptions
from pipeline.functions.policies import RetryPolicy
from pipeline.functions.rate import RateLimiter


def sync_call(
    function: Callable[..., Any], options: FunctionOptions, limiter: RateLimiter | None
) -> Callable[..., Any]:
    """The function with its policies around it; the bare function where it has none."""
    call = function
    if options.timeout_s is not None:
        call = _within(call, options.timeout_s)
    if limiter is not None:
        call = _at_rate(call, limiter)
    if options.retries is not None and options.retries.max_retries:
        from tenacity import Retrying

        call = functools.partial(_retried, Retrying, options.retries, call)
    return call


def async_call(
    function: Callable[..., Awaitable[Any]], options: FunctionOptions, limiter: RateLimiter | None
) -> Callable[..., Awaitable[Any]]:
    """The coroutine function with its policies around it."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        if limiter is not None:
            await limiter.wait_async()
        try:
            async with asyncio.timeout(options.timeout_s) as scope:
                return await function(*args, **kwargs)
        except TimeoutError:
            if scope.expired():
                raise CallTimeoutError(f"no result within {options.timeout_s:g} s (timeout_s)") from None
            raise

    if options.retries is None or not options.retries.max_retries:
        return call
    from tenacity import AsyncRetrying

    return functools.partial(_retried, AsyncRetrying, options.retries, call)


def _within(function: Callable[..., Any], timeout_s: float) -> Callable[..., Any]:
    return lambda *args, **kwargs: call_within(lambda: function(*args, **kwargs), timeout_s)


def _at_rate(function: Callable[..., Any], limiter: RateLimiter) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        limiter.wait()
        return function(*args, **kwargs)

    return call


def _retried(
    retrying: Callable[..., Any], policy: RetryPolicy, call: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    from tenacity import retry_if_exception_type, stop_after_attempt

    attempts = retrying(
        stop=stop_after_attempt(policy.max_retries + 1),
        wait=lambda state: policy.wait_s(state.attempt_number, random.random()),
        retry=retry_if_exception_type(policy.retry_on),
        reraise=True,
    )
    return attempts(call, *args, **kwargs)
