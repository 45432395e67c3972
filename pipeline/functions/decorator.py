"""`@function`: an ordinary function becomes a task or scorer."""

from __future__ import annotations

import sys
import types
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
        return _decorated(func, options, sys._getframe(1))

    def decorate(func: Callable[..., Any]) -> RemoteFunction:
        return _decorated(func, options, sys._getframe(1))

    return decorate


def _decorated(func: Callable[..., Any], options: Mapping[str, Any], frame: types.FrameType) -> RemoteFunction:
    handle = RemoteFunction(func, **options)
    handle.is_decorated = True
    # The locals of an enclosing function are where text annotations of a nested one may be defined.
    handle.look_up_names_in({} if frame.f_locals is frame.f_globals else dict(frame.f_locals))
    return handle
