"""Many calls, one result each, in order: in turn, in threads, or as coroutines. A failed call is a `Failed`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from pipeline.functions.binding import Call
from pipeline.functions.failures import Failed
from pipeline.functions.interrupt import InterruptWatch

OnError = Callable[[BaseException], Failed]


class Runner(Protocol):
    """Runs calls."""

    def run(self, calls: Sequence[Call], on_error: OnError) -> list[Any]:
        """The results in the order of the calls; of those that raised, what `on_error` makes of it."""

    def close(self) -> None:
        """Give back threads and loops."""


class InTurn:
    """One call after the other, in this thread."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def run(self, calls: Sequence[Call], on_error: OnError) -> list[Any]:
        """See Runner."""
        call = self._call
        results: list[Any] = []
        add = results.append
        with InterruptWatch() as watch:
            for args, kwargs in calls:
                try:
                    add(call(*args, **kwargs))
                except BaseException as error:  # SystemExit and the like are one row's failure too
                    if watch.is_real(error):
                        raise
                    add(on_error(error))
        return results

    def close(self) -> None:
        """Nothing is held."""


class InThreads:
    """Several calls at once, each in a thread: for functions that wait, and ask for `concurrency`."""

    def __init__(self, call: Callable[..., Any], in_flight: int) -> None:
        self._call = call
        self._pool = ThreadPoolExecutor(in_flight, thread_name_prefix="assay-call")

    def run(self, calls: Sequence[Call], on_error: OnError) -> list[Any]:
        """See Runner."""

        def one(call: Call) -> Any:
            try:
                return self._call(*call[0], **call[1])
            except BaseException as error:  # noqa: BLE001  # SystemExit too is one row's failure
                return on_error(error)

        return list(self._pool.map(one, calls))

    def close(self) -> None:
        """Let running calls end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class InLoop:
    """Coroutines on one event loop, which lives as long as the runner: clients may be kept between parts."""

    def __init__(self, call: Callable[..., Awaitable[Any]], in_flight: int) -> None:
        self._call = call
        self._in_flight = in_flight
        self._loop = asyncio.new_event_loop()
        self._is_open = True
        self._thread = threading.Thread(target=self._serve, daemon=True, name="assay-loop")
        self._thread.start()

    def run(self, calls: Sequence[Call], on_error: OnError) -> list[Any]:
        """See Runner."""
        future = asyncio.run_coroutine_threadsafe(self._all(calls, on_error), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop and its thread."""
        self._is_open = False
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        if not self._loop.is_running():
            self._loop.close()

    def _serve(self) -> None:
        while self._is_open:
            try:
                self._loop.run_forever()
            except BaseException:  # noqa: BLE001  # SystemExit in a task that the user's function started leaves the loop
                continue

    async def _all(self, calls: Sequence[Call], on_error: OnError) -> list[Any]:
        results: list[Any] = [None] * len(calls)
        waiting = iter(enumerate(calls))

        async def work() -> None:
            for place, (args, kwargs) in waiting:
                results[place] = await self._one(args, kwargs, on_error)

        await asyncio.gather(*(work() for _ in range(min(self._in_flight, len(calls)))))
        return results

    async def _one(self, args: tuple[Any, ...], kwargs: dict[str, Any], on_error: OnError) -> Any:
        try:
            return await self._call(*args, **kwargs)
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            return on_error(error)
