"""How far a run is, on stderr: one live line on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pipeline.cli.screen import is_terminal, shown_owners, shown_rate, shown_seconds

if TYPE_CHECKING:
    from pipeline.evaluation.progress import RunProgress

PLAIN_EVERY_S = 5.0  # seconds between two plain lines; logs are read later, not watched


class ProgressDisplay:
    """A context that shows what `on_progress` is told, from whichever thread.

    Args:
        quiet: show nothing.
        clock: monotonic seconds.
    """

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet, self._clock = quiet, clock
        self._lock = threading.Lock()
        self._told_at: float | None = None
        self._live: Any = None
        self._is_open = False
        self._last: RunProgress | None = None

    @property
    def rows_here(self) -> int:
        """Rows done so far by this process; those of earlier attempts at the same run are not among them."""
        last = self._last
        return 0 if last is None or last.rate is None else round(last.rate * last.elapsed_s)

    def __enter__(self) -> Self:
        self._is_open = True
        if not self._quiet and is_terminal(sys.stderr):
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._is_open = False
            if self._live is not None:
                self._live.stop()

    def __call__(self, progress: RunProgress) -> None:
        """Show the state, if it is time to."""
        with self._lock:
            self._last = progress
            if not self._is_open or self._quiet:
                return
            if self._live is not None:
                self._live.update(_drawn(progress))
            elif self._is_due(progress):
                print(progress_line(progress), file=sys.stderr, flush=True)

    def _is_due(self, progress: RunProgress) -> bool:
        now = self._clock()
        if progress.status.is_terminal or (self._told_at is not None and now - self._told_at < PLAIN_EVERY_S):
            return False
        self._told_at = now
        return True


def progress_line(progress: RunProgress) -> str:
    """The state in one line: `running 40,960 of 100,000 rows (41%), 20,480 rows/s, 2.9 s to go, failures: 3 model`."""
    done = progress.rows_done + progress.rows_in_work
    if progress.status.value == "pending":
        left = f"{progress.rows - done:,} of " if done else ""
        return f"starting, {left}{progress.rows:,} rows to do"
    share = done / progress.rows if progress.rows else 0.0
    pieces = [f"{progress.status.value} {done:,} of {progress.rows:,} rows ({share:.0%})"]
    if progress.rate is not None:
        pieces.append(shown_rate(progress.rate))
    if progress.eta_s is not None and done < progress.rows:
        pieces.append(f"{shown_seconds(progress.eta_s)} to go")
    if progress.tried_again:
        pieces.append(f"tried again: {progress.tried_again:,}")
    if progress.failures:
        pieces.append(f"failures: {shown_owners(progress.failures)}")
    return ", ".join(pieces)


def _drawn(progress: RunProgress) -> Any:
    from rich.columns import Columns
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    bar = ProgressBar(total=max(progress.rows, 1), completed=progress.rows_done + progress.rows_in_work, width=30)
    return Columns([bar, Text(progress_line(progress), style="red" if progress.failures else "")])
