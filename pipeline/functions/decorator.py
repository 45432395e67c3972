"""`@function`: an ordinary function becomes a task or scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

from pipeline.functions.handle import RemoteFunction


@overload
def function(func: Callable[..., Any], /) -> RemoteFunction: ...
@overload
def function(**options: Any) -> Callable[[Callable[..., Any]], RemoteFunction]: ...
def function(
    func: Callable[..., Any] | None = None, /, **options: Any
) -> RemoteFunction | Callable[[Callable[..., Any]], RemoteFunction]:
    """Make a function usable as task or scorer: `@function`, or `@function(retries=3, …)`.

    Its parameters bind to columns by name. It is deployed when an evaluation is created with it.

    Args:
        options: name, num_cpus (cpu), num_gpus (gpu), memory, concurrency, retries, rate_limit, timeout_s, batch, env,
            secrets, runtime_env.

    Raises:
        TypeError: no function, or an unknown option (the nearest one is named).
        FunctionSignatureError: a missing annotation, or one without column type.
    """
    if func is not None:
        return _decorated(func, options)
    return lambda func: _decorated(func, options)


def _decorated(func: Callable[..., Any], options: Mapping[str, Any]) -> RemoteFunction:
    handle = RemoteFunction(func, **options)
    handle.is_decorated = True
    return handle
