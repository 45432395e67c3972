"""What every form of data becomes: a schema and a stream of tables; and how far the reading has come, in bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class SourceOptions:
    """How text is read."""

    column_types: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Types that are given instead of being found, for CSV, JSON Lines and rows."""
    delimiter: str = ","
    """Between the cells of a CSV file."""


@dataclass(frozen=True)
class Source:
    """Rows that can be stored."""

    schema: pa.Schema
    """Storable as it is: see `storable_schema`."""
    tables: Callable[[], Iterator[pa.Table]]
    """Starts the stream. Call it once: some forms can be read only once."""
    kind: str
    """`csv`, `parquet`, `jsonl`, `rows`, `columns`, `arrow`, or the name of a dataframe's class."""
    origin: str = ""
    """The files, for people."""


class Progress:
    """Adds up bytes over everything that is read and reports them: never backwards, `done == total` only at the end."""

    def __init__(self, on_progress: OnProgress | None = None) -> None:
        self._on_progress = on_progress
        self._spans: list[Span] = []
        self._reported: tuple[int, int] | None = None

    def expect(self, n_bytes: int = 0) -> Span:
        """Announce `n_bytes` to come; 0 where nobody knows: the span then grows with what arrives."""
        span = Span(self, n_bytes)
        self._spans.append(span)
        return span

    def report(self) -> None:
        """Tell the caller, unless nothing has changed."""
        if self._on_progress is None:
            return
        now = (sum(span.done for span in self._spans), sum(span.total for span in self._spans))
        if now != self._reported:
            self._reported = now
            self._on_progress(*now)

    def finish(self) -> None:
        """Everything has been read and stored."""
        for span in self._spans:
            span.done = span.total
        self.report()


class Span:
    """The bytes of one file or table."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self.total = total
        self.done = 0

    def reach(self, fraction: float) -> None:
        """So much of it has been read, from 0 to 1. The last byte counts when everything is stored."""
        self.done = max(self.done, min(int(self.total * fraction), self.total - 1))
        self._progress.report()

    def grow(self, n_bytes: int) -> None:
        """So many more bytes have come, of nobody knows how many."""
        self.total += n_bytes
        self.done = max(self.done, self.total - 1)
        self._progress.report()
