"""Reads the rows of a result, a part at a time; with a condition, only what can hold a row on which it is true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

import pyarrow as pa

from pipeline.engine.ray_data import TableTask
from pipeline.evaluation.bounds import folder_bounds, group_bounds
from pipeline.evaluation.where import ReadTally, Where
from pipeline.records import columns
from pipeline.records.dataset import Revision
from pipeline.store import RevisionReader, Store, in_row_order

BYTES_AT_ONCE = 32 << 20  # in memory, of rows that a condition is put to at once


@dataclass(frozen=True)
class ResultRead:
    """Rows of a result that are to be read. Holds none, and pickles: others can carry it out, also in pieces."""

    store: Store
    revision: Revision
    """The files of the result."""
    files_of_parts: tuple[int, ...]
    """How many files each part has, in order."""
    partition_by: tuple[str, ...] = ()
    wanted: tuple[str, ...] | None = None
    """The columns, in this order; None: all."""
    where: Where | None = None

    @property
    def schema(self) -> pa.Schema:
        """Of every table."""
        whole = self.revision.to_arrow_schema()
        return whole if self.wanted is None else pa.schema([whole.field(name) for name in self.wanted])

    def pieces(self) -> list[ResultRead]:
        """The same, a part each."""
        pieces, first = [], 0
        for n_files in self.files_of_parts:
            revision = self.revision.model_copy(update={"parts": self.revision.parts[first : first + n_files]})
            pieces.append(replace(self, revision=revision, files_of_parts=(n_files,)))
            first += n_files
        return pieces

    def tasks(self) -> list[TableTask]:
        """The same for workers of Ray, a part each."""
        return [
            TableTask(
                piece.tables,
                sum(part.rows for part in piece.revision.parts) if self.where is None else None,
                sum(part.bytes for part in piece.revision.parts),
                tuple(part.path for part in piece.revision.parts),
            )
            for piece in self.pieces()
        ]

    def tables(self, tally: ReadTally | None = None) -> Iterator[pa.Table]:
        """The rows of one part after the other; every file that is read is checked against its digest before.

        Args:
            tally: takes down what is read.

        Raises:
            MissingError, CorruptError: a file is gone or is not the one that was committed.
        """
        tally = tally or ReadTally()
        tally.files += len(self.revision.parts)
        with RevisionReader(self.store, self.revision, self._needed()) as reader:
            reading = _Reading(self, reader, tally)
            first = 0
            try:
                for n_files in self.files_of_parts:
                    rows = in_row_order(reading.rows(range(first, first + n_files)))
                    yield rows if self.wanted is None else rows.select(list(self.wanted))
                    first += n_files
            finally:
                if self.where is not None:
                    self.where.close()

    def _needed(self) -> list[str] | None:
        """What is read of the files: also what the order and the condition need."""
        if self.wanted is None:
            return None
        of_condition = () if self.where is None else self.where.columns
        return list(dict.fromkeys([*self.wanted, *of_condition, columns.ROW_ID]))


class _Reading:
    """One pass over the files."""

    def __init__(self, read: ResultRead, reader: RevisionReader, tally: ReadTally) -> None:
        self._parts = read.revision.parts
        self._partition_by = read.partition_by
        self._where = read.where
        self._reader = reader
        self._tally = tally
        self._schema = read.revision.to_arrow_schema()
        self._starts = list(accumulate((part.rows for part in self._parts), initial=0))

    def rows(self, files: Iterable[int]) -> pa.Table:
        """The rows of some files, file after file; with a condition, those on which it is true."""
        kept = [self._reader.schema.empty_table()]
        if self._where is None:
            for number in files:
                self._tally.files_read += 1
                kept.append(self._reader.read(self._starts[number], self._parts[number].rows))
        else:
            for rows in _gathered(table for number in files for table in self._candidates(number, self._where)):
                kept.append(self._where.selected(rows, self._tally))
        return pa.concat_tables(kept)

    def _candidates(self, number: int, where: Where) -> Iterator[pa.Table]:
        """The rows of a file, without the row groups that cannot hold one on which the condition is true."""
        folder = folder_bounds(self._parts[number].path, self._partition_by, self._schema)
        if not where.may_hold(folder):
            return
        # The digest is checked before the statistics are believed: a footer has no checksum of its own.
        metadata = self._reader.metadata(number)
        self._tally.files_read += 1
        self._tally.groups += metadata.num_row_groups
        first_row = self._starts[number]
        for group in range(metadata.num_row_groups):
            n_rows = metadata.row_group(group).num_rows
            if where.may_hold(folder | group_bounds(metadata, group, self._schema, where.columns)):
                self._tally.groups_read += 1
                yield from self._reader.steps(first_row, n_rows)
            first_row += n_rows


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables, small ones together: one call of the database costs as much as a thousand rows."""
    pending: list[pa.Table] = []
    n_bytes = 0
    for table in tables:
        pending.append(table)
        n_bytes += table.nbytes
        if n_bytes >= BYTES_AT_ONCE:
            yield pa.concat_tables(pending)
            pending, n_bytes = [], 0
    if pending:
        yield pa.concat_tables(pending)
