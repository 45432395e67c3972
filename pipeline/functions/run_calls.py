"""Many calls, one result each, in place: in turn, in threads, or as coroutines. A failed call is a `Failed`.

A runner has a fixed number of slots. They are its own and not a call's of `run`: where two threads run calls at once,
the calls of the first come first, and those of the second fill the slots that get free.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipeline.functions.binding import Call
from pipeline.functions.failures import Failed
from pipeline.functions.interrupt import InterruptWatch

OnError = Callable[[BaseException], Failed]


class _Pending:
    """Stands in a list of results where a call has not ended."""


PENDING = _Pending()


@dataclass
class CallList:
    """Calls and their results. Other threads may look at the results while the calls go on."""

    calls: Sequence[Call]
    on_error: OnError
    """Makes a result of what a call raised."""
    sizes: Sequence[int] | None = None
    """Rows of each call; None: one."""
    results: list[Any] = field(init=False)
    """In the order of the calls; `PENDING` where one has not ended."""

    def __post_init__(self) -> None:
        self.results = [PENDING] * len(self.calls)

    @property
    def ended(self) -> list[int]:
        """Places of the calls that have ended."""
        return [place for place, result in enumerate(self.results) if result is not PENDING]

    @property
    def rows_ended(self) -> int:
        """Rows of the calls that have ended."""
        return len(self.ended) if self.sizes is None else sum(self.sizes[place] for place in self.ended)


class Tally:
    """Counts rows whose calls have ended. A call costs nothing: who asks, counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._earlier = 0
        self._open: list[CallList] = []

    @property
    def rows(self) -> int:
        """Rows so far."""
        with self._lock:
            return self._earlier + sum(calls.rows_ended for calls in self._open)

    @contextmanager
    def over(self, calls: CallList) -> Iterator[None]:
        """Count these while they go on, and ever after."""
        with self._lock:
            self._open.append(calls)
        try:
            yield
        finally:
            with self._lock:
                self._open = [other for other in self._open if other is not calls]
                self._earlier += calls.rows_ended


class Runner(Protocol):
    """Runs calls; may be asked by several threads at once."""

    def run(self, calls: CallList) -> None:
        """Fill in all results; of calls that raised, what `on_error` makes of it."""

    def close(self) -> None:
        """Give back threads and loops."""


class InTurn:
    """One call after the other, in this thread."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call
        self._turn = threading.RLock()

    def run(self, calls: CallList) -> None:
        """See Runner."""
        call, results = self._call, calls.results
        with self._turn, InterruptWatch() as watch:
            for place, (args, kwargs) in enumerate(calls.calls):
                try:
                    results[place] = call(*args, **kwargs)
                except BaseException as error:  # SystemExit and the like are one row's failure too
                    if watch.is_real(error):
                        raise
                    results[place] = calls.on_error(error)

    def close(self) -> None:
        """Nothing is held."""


class InThreads:
    """Several calls at once, each in a thread: for functions that wait, and ask for `concurrency`."""

    def __init__(self, call: Callable[..., Any], in_flight: int) -> None:
        self._call = call
        self._pool = ThreadPoolExecutor(in_flight, thread_name_prefix="assay-call")

    def run(self, calls: CallList) -> None:
        """See Runner."""

        def one(place: int, call: Call) -> None:
            try:
                calls.results[place] = self._call(*call[0], **call[1])
            except BaseException as error:  # noqa: BLE001  # SystemExit too is one row's failure
                calls.results[place] = calls.on_error(error)

        futures = [self._pool.submit(one, place, call) for place, call in enumerate(calls.calls)]
        try:
            wait(futures)
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        """Let running calls end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Entry:
    """A list of calls in the queue of a loop; everything but `ended` is the loop's own."""

    def __init__(self, calls: CallList) -> None:
        self.calls = calls
        self.next = 0
        self.left = len(calls.calls)
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.is_dropped = False
        self.ended = threading.Event()


class InLoop:
    """Coroutines on one event loop, which lives as long as the runner: clients may be kept between parts.

    Each row is a task of its own, so that neither a context variable nor a cancellation of one row reaches another.
    """

    def __init__(self, call: Callable[..., Awaitable[Any]], in_flight: int) -> None:
        self._call = call
        self._free = in_flight
        self._queue: deque[_Entry] = deque()
        self._context = contextvars.copy_context()
        self._loop = asyncio.new_event_loop()
        self._is_open = True
        self._thread = threading.Thread(target=self._serve, daemon=True, name="assay-loop")
        self._thread.start()

    def run(self, calls: CallList) -> None:
        """See Runner."""
        if not calls.calls:
            return
        entry = _Entry(calls)
        self._loop.call_soon_threadsafe(self._admit, entry)
        try:
            entry.ended.wait()
        except BaseException:
            self._loop.call_soon_threadsafe(self._drop, entry)
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

    def _admit(self, entry: _Entry) -> None:
        self._queue.append(entry)
        self._fill()

    def _drop(self, entry: _Entry) -> None:
        entry.is_dropped = True
        if entry in self._queue:
            self._queue.remove(entry)
        for task in list(entry.tasks.values()):
            task.cancel()

    def _fill(self) -> None:
        """Give free slots to the rows that wait, the oldest list first."""
        while self._free and self._queue:
            entry, place = self._queue[0], self._queue[0].next
            entry.next += 1
            if entry.next == len(entry.calls.calls):
                self._queue.popleft()
            self._free -= 1
            # A context of its own: a task that is made inside another one would get that one's.
            entry.tasks[place] = self._loop.create_task(self._one(entry, place), context=self._context.copy())

    async def _one(self, entry: _Entry, place: int) -> None:
        args, kwargs = entry.calls.calls[place]
        try:
            entry.calls.results[place] = await self._call(*args, **kwargs)
        except BaseException as error:
            if entry.is_dropped:
                raise
            entry.calls.results[place] = entry.calls.on_error(error)
        finally:
            del entry.tasks[place]
            self._free += 1
            self._fill()
        entry.left -= 1
        if not entry.left:
            entry.ended.set()
