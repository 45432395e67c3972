"""Carries out the stages of one part with its journal: rows that are kept are not called again, others are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

import pyarrow as pa
from ulid import ULID

from pipeline.errors import StoreError
from pipeline.evaluation.journal import ORIGIN, ROW, JournalFolder, Kept
from pipeline.evaluation.stages import TASK, Calls, Stage

JOURNAL_S = 10.0  # what a loss costs; a part that takes less is never kept


_NO_TASK = ""


class Keeping:
    """A context: while it is open, finished rows are kept every `every_s` seconds, in a thread of its own.

    Args:
        folder: the part's.
        kept: what is there already; None: nothing was looked for.
        has_task: whether outputs are made, or are there.
        every_s: seconds.
        on_known: told of rows that are not called again.
    """

    def __init__(
        self,
        folder: JournalFolder,
        kept: Kept | None = None,
        *,
        has_task: bool,
        every_s: float = JOURNAL_S,
        on_known: Callable[[int], None] | None = None,
    ) -> None:
        self.folder = folder
        """The part's."""
        self._pieces = {} if kept is None else kept.pieces
        self._keys = [] if kept is None else list(kept.keys)
        self._every_s, self._on_known = every_s, on_known
        self._session = str(ULID()) if has_task else _NO_TASK
        self._origins = _origins(self._pieces.get(TASK))
        self._runs: list[_Run] = []
        self._flushing = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="assay-journal", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed.set()
        self._thread.join()

    def carry_out(self, stage: Stage, rows: pa.Table, row_ids: pa.Array) -> pa.Table:
        """The columns that a stage makes of rows, from the journal where they are kept. See `stages.Carrier`."""
        ids: list[int] = row_ids.to_pylist()
        known = self.known(stage, ids)
        if self._on_known is not None:
            self._on_known(len(known))
        wanted = [place for place, row in enumerate(ids) if row not in known] if known else None
        if wanted == []:
            return self._taken(stage, [known[row] for row in ids])
        run = _Run(stage, stage.begin(rows, wanted), ids)
        with self._flushing:
            self._runs.append(run)
        run.calls.run()
        made = stage.table(run.calls.outcomes())
        with self._flushing:
            run.end(made)
        return made if wanted is None else self._merged(stage, made, ids, known)

    def known(self, stage: Stage, row_ids: Sequence[int]) -> dict[int, int]:
        """Of the rows that are kept, where each stands in the pieces of the stage."""
        piece = self._pieces.get(stage.name)
        if piece is None:
            return {}
        wanted = set(row_ids)
        known: dict[int, int] = {}
        for place, (row, origin) in enumerate(zip(piece[ROW].to_pylist(), piece[ORIGIN].to_pylist(), strict=True)):
            if row in wanted and row not in known and origin == self._origin(row):
                known[row] = place
        return known

    def flush(self) -> None:
        """Keep what has come in.

        Stage after stage: what a scorer made of an output is worth nothing without the output.

        Raises:
            StoreError: it could not be written; it is tried again the next time.
        """
        with self._flushing:
            for run in list(self._runs):
                run.take_news()
                if run.unwritten is not None:
                    origins = [self._origin(row) for row in run.row_ids]
                    self._keys.append(self.folder.write(run.stage, run.unwritten, run.row_ids, origins))
                    run.unwritten, run.row_ids = None, []
                if run.has_ended:
                    self._runs.remove(run)

    def keep(self, stage: Stage, made: pa.Table, row_ids: Sequence[int]) -> None:
        """Keep what is to stand for a stage of some rows.

        Raises:
            StoreError: it could not be written.
        """
        with self._flushing:
            self._keys.append(self.folder.write(stage, made, row_ids, [self._origin(row) for row in row_ids]))

    def remove(self) -> None:
        """Remove what was found and written: the part's receipt stands."""
        if self._keys:
            self.folder.remove(self._keys)

    def forget(self) -> None:
        """Remove it though the part is not done, and keep nothing more."""
        with self._flushing:
            self._runs.clear()
            self.remove()

    def _keep(self) -> None:
        while not self._closed.wait(self._every_s):
            try:
                self.flush()
            except (StoreError, OSError, MemoryError):
                continue  # scratch: a run does not end because rows cannot be kept

    def _origin(self, row: int) -> str:
        return self._origins.get(row, self._session)

    def _taken(self, stage: Stage, places: Sequence[int]) -> pa.Table:
        pieces = self._pieces[stage.name].select(stage.schema.names).replace_schema_metadata(None)
        return pieces.take(pa.array(places, pa.int64()))

    def _merged(self, stage: Stage, made: pa.Table, ids: Sequence[int], known: dict[int, int]) -> pa.Table:
        fresh = [row for row in ids if row not in known]
        order = {row: place for place, row in enumerate([*known, *fresh])}
        joined = pa.concat_tables([self._taken(stage, list(known.values())), made])
        return joined.take(pa.array([order[row] for row in ids], pa.int64()))


class RowByRow:
    """Carries out the stages of one row that may end the process, so that it is known afterwards in which one it was.

    A context: while it is open, a mark on the store says which stage the row is in.

    Args:
        keeping: of the row's part; it need not be open.
        lost: what befell the workers that had this row. The stage in which it was then is not tried again.
    """

    def __init__(self, keeping: Keeping, lost: str | None) -> None:
        self._keeping = keeping
        self._lost = lost
        self._row: int | None = None

    def carry_out(self, stage: Stage, rows: pa.Table, row_ids: pa.Array) -> pa.Table:
        """See `stages.Carrier`; what comes out is kept before it is returned."""
        keeping, row = self._keeping, row_ids[0].as_py()
        if not keeping.known(stage, [row]):
            self._row = row
            if self._lost is not None and keeping.folder.marked(row) == stage.name:
                made = stage.failed(f"the worker was lost on this row again and again: {self._lost}", 1)
                keeping.keep(stage, made, [row])
                return made
            keeping.folder.mark(row, stage.name)
        made = keeping.carry_out(stage, rows, row_ids)
        keeping.flush()
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """The mark goes where the row is done, or the store failed: no stage is to blame for that.

        It stays after any other error: the row may have ended a pool that the stage asks.
        """
        if self._row is not None and (error is None or isinstance(error, StoreError)):
            self._keeping.folder.remove([self._keeping.folder.mark_key(self._row)])


class _Run:
    """The calls of one stage, and those of their rows that are not written yet."""

    def __init__(self, stage: Stage, calls: Calls, ids: Sequence[int]) -> None:
        self.stage = stage
        self.calls = calls
        self.unwritten: pa.Table | None = None
        self.row_ids: list[int] = []
        """Of `unwritten`."""
        self.has_ended = False
        self._ids = ids  # of all rows of the table that the calls were begun with

    def take_news(self) -> None:
        """Rows that have come in since, to those that are not written."""
        if not self.has_ended:
            news = self.calls.news()
            self._add(self.stage.table(news), news.rows)

    def end(self, made: pa.Table) -> None:
        """All rows have come in: those that were not taken are taken from what was made, and the calls let go of."""
        rest = self.calls.untold
        self._add(
            made if len(rest) == made.num_rows else made.take(pa.array(rest, pa.int64())),
            [self.calls.rows[place] for place in rest],
        )
        self.has_ended = True
        del self.calls

    def _add(self, made: pa.Table, rows: Sequence[int]) -> None:
        if rows:
            self.unwritten = made if self.unwritten is None else pa.concat_tables([self.unwritten, made])
            self.row_ids += [self._ids[row] for row in rows]


def _origins(tasks: pa.Table | None) -> dict[int, str]:
    """By row: the session that made its output, of rows whose output is kept."""
    origins: dict[int, str] = {}
    if tasks is not None:
        for row, origin in zip(tasks[ROW].to_pylist(), tasks[ORIGIN].to_pylist(), strict=True):
            origins.setdefault(row, origin)
    return origins
