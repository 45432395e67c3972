"""The calls of one function for the rows of a table: bound once, then made, and looked at meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.errors import FunctionError
from pipeline.functions.batch_results import spread
from pipeline.functions.binding import BoundRows, bind_batches, bind_rows
from pipeline.functions.failures import Failed, describe_error
from pipeline.functions.payload import Definition
from pipeline.functions.run_calls import CallList, OnError
from pipeline.functions.value_size import refuse_giants
from pipeline.records.owners import Owner


class Outcomes(NamedTuple):
    """What the calls of some rows came to."""

    rows: Sequence[int]
    """Positions in the table that the calls were begun with."""
    values: list[Any]
    """What was returned, one entry for each of `rows`; None where it failed. Of Arrow batches, an `ArrowRow`."""
    failures: dict[int, Failed]
    """By place in `rows`."""


class RowCalls:
    """Made by `FunctionCaller.begin`.

    Args:
        table: the rows; batches are cut over all of them, so that leaving some out changes no other batch.
        wanted: positions of the rows to call, in order; None: all.
        run: makes the calls.
        during: what is in force while they are made.
    """

    def __init__(
        self,
        definition: Definition,
        table: pa.Table,
        wanted: Sequence[int] | None,
        *,
        on_error: OnError,
        run: Callable[[CallList], None],
        during: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._definition, self._run, self._during = definition, run, during
        self._order: Sequence[int] = range(table.num_rows) if wanted is None else wanted
        self._broken: Failed | None = None
        bound, sizes = BoundRows([], [], {}), None
        try:
            bound, sizes = self._bind(table, wanted)
        except FunctionError as error:
            self._broken = _broken(error)
        self._bound = bound
        self._list = CallList(bound.calls, on_error, sizes)
        self._starts = None if sizes is None else list(accumulate(sizes, initial=0))
        self._told: set[int] = set()

    def run(self) -> None:
        """Make the calls, and wait for them. Nothing is raised for a row."""
        if self._broken is not None:
            return
        try:
            with self._during():
                self._run(self._list)
        except FunctionError as error:  # a secret that is not there, for all rows alike
            self._broken = _broken(error)

    def outcomes(self) -> Outcomes:
        """What all rows came to, once the calls were made."""
        order, bound = self._order, self._bound
        if self._broken is not None:
            return _outcomes(order, [self._broken] * len(order))
        flat = self._flat(range(len(bound.calls)))
        if len(flat) == len(order):
            return _outcomes(order, flat)
        found: dict[int, Any] = {**bound.failures, **dict(zip(bound.rows, flat, strict=True))}
        return _outcomes(order, [found[row] for row in order])

    def news(self) -> Outcomes:
        """What has come in since the last time that `news` was asked: for another thread, while the calls go on."""
        ended = [place for place in self._list.ended if place not in self._told]
        self._told.update(ended)
        return _outcomes([row for place in ended for row in self._rows_of(place)], self._flat(ended))

    @property
    def rows(self) -> Sequence[int]:
        """The positions of the rows that the calls are for, in order: those of `outcomes`."""
        return self._order

    @property
    def untold(self) -> Sequence[int]:
        """Places in `rows` of those that were in no `news`; rows that cannot be called never are."""
        if not self._told:
            return range(len(self._order))
        told = {row for place in self._told for row in self._rows_of(place)}
        return [place for place, row in enumerate(self._order) if row not in told]

    def _rows_of(self, place: int) -> Sequence[int]:
        start, end = (place, place + 1) if self._starts is None else self._starts[place : place + 2]
        return self._bound.rows[start:end]

    def _bind(self, table: pa.Table, wanted: Sequence[int] | None) -> tuple[BoundRows, list[int] | None]:
        signature, size = self._definition.signature, self._definition.options.batch
        if size:
            return bind_batches(signature, table, size, None if wanted is None else set(wanted))
        if wanted is None:
            return bind_rows(signature, table), None
        bound = bind_rows(signature, table.take(pa.array(wanted, pa.int64())))
        failures = {wanted[row]: failed for row, failed in bound.failures.items()}
        return BoundRows([wanted[row] for row in bound.rows], bound.calls, failures), None

    def _flat(self, places: Sequence[int]) -> list[Any]:
        """The results of some calls, one entry a row."""
        results, sizes = self._list.results, self._list.sizes
        if sizes is None:
            return results[:] if len(places) == len(results) else [results[place] for place in places]
        batches = (spread(results[place], sizes[place], self._definition.signature.returned) for place in places)
        return [entry for batch in batches for entry in batch]


def _outcomes(rows: Sequence[int], values: list[Any]) -> Outcomes:
    refuse_giants(values)
    failures = {place: value for place, value in enumerate(values) if type(value) is Failed}
    for place in failures:
        values[place] = None
    return Outcomes(rows, values, failures)


def _broken(error: FunctionError) -> Failed:
    return Failed(describe_error(error, named=False), Owner.HARNESS)
