"""Calls a function for the rows of a table, in a worker. A row's failure is a value; nothing is raised."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import FunctionError
from pipeline.formats.redaction import spellings
from pipeline.functions.batch_results import join_arrow, python_values
from pipeline.functions.environment import environment
from pipeline.functions.failures import Failed, RowOutcome, describe_error, owner_of
from pipeline.functions.handle import RemoteFunction
from pipeline.functions.into_arrow import column_of
from pipeline.functions.invoke import async_call, is_bare, sync_call
from pipeline.functions.masked import masked, masked_json
from pipeline.functions.payload import Definition, load_definition
from pipeline.functions.rate import RateLimiter, limiter_of
from pipeline.functions.registry import FunctionMaterial
from pipeline.functions.row_calls import Outcomes, RowCalls
from pipeline.functions.run_calls import CallList, InLoop, InThreads, InTurn, Runner, Tally
from pipeline.functions.secret import Secret
from pipeline.functions.timings import CallMeter, CallTimings
from pipeline.functions.value_size import refuse_giant_rows
from pipeline.records.limits import LimitDesk
from pipeline.records.owners import Owner

ASYNC_IN_FLIGHT = 64  # rows; what endpoints usually take from one client, where nothing is said
ERROR_TYPE = pa.large_string()
OWNER_TYPE = pa.string()


class CallColumns(NamedTuple):
    """What a task made of a table: one entry a row in each column."""

    output: pa.Array
    """Of the declared type; null where the row failed."""
    error: pa.Array
    """Text; null where the row did not fail."""
    owner: pa.Array
    """Text; null where the row did not fail."""


class FunctionCaller:
    """A function, ready to be called in this process.

    Args:
        source: what `load_function` gave, whose payload is loaded here; or a handle made in this process.
        share: how many workers the function's concurrency is split over, and its rate where `limits` is not there.
        limits: the desk that hands out the permits of all workers; None: this process keeps its share by itself.

    Raises:
        FunctionBuildError: the payload was pickled by another Python, or cannot be loaded.
        CorruptError: the payload is not the pinned one.
    """

    def __init__(
        self, source: FunctionMaterial | RemoteFunction, *, share: int = 1, limits: LimitDesk | None = None
    ) -> None:
        self._definition = _definition(source)
        named = source if isinstance(source, RemoteFunction) else source.record
        self.name: str = named.name
        self._source = source
        self._options = self._definition.options
        self._meter = CallMeter()
        asked = self._options.rate_limit
        limiter = limiter_of(asked.rule(self.version_id), limits, share) if asked else None
        self._runner = _runner(self._definition, share, limiter, self._meter)
        self._tally = Tally()
        self._returned = self._definition.signature.returned

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads where they are there: the names of its parameters; of a batch of tables, none."""
        return tuple(slot.name for slot in self._definition.signature.slots if slot.form != "table")

    @property
    def required(self) -> tuple[str, ...]:
        """The columns without which it cannot be called."""
        slots = self._definition.signature.slots
        return tuple(slot.name for slot in slots if slot.form != "table" and not slot.has_default)

    @property
    def version_id(self) -> str:
        """The version that is called."""
        if isinstance(self._source, RemoteFunction):
            return self._source.find_version().id
        return self._source.record.version_id

    @property
    def returns_list(self) -> bool:
        """Whether a row's result is declared as a list."""
        return self._returned.is_list

    def close(self) -> None:
        """Give back threads and the event loop."""
        self._runner.close()

    @property
    def timings(self) -> CallTimings:
        """How often the function was called until now, and where the time went."""
        return self._meter.timings

    @property
    def rows_finished(self) -> int:
        """Rows whose calls have ended, failed or not; grows while calls go on."""
        return self._tally.rows

    def begin(self, rows: pa.Table, wanted: Sequence[int] | None = None) -> RowCalls:
        """The calls for some rows, not yet made.

        Args:
            wanted: positions of the rows to call, in order; None: all.
        """
        env = self._options.env
        return RowCalls(
            self._definition, rows, wanted, on_error=self._failed, run=self._run, during=lambda: environment(env)
        )

    def call(self, rows: pa.Table) -> CallColumns:
        """A task's outputs, checked against the declared type."""
        calls = self.begin(rows)
        calls.run()
        return self.columns_of(calls.outcomes())

    def columns_of(self, outcomes: Outcomes) -> CallColumns:
        """A task's outputs, checked against the declared type: one entry for each row of `outcomes`."""
        values, failures = outcomes.values, dict(outcomes.failures)
        if self._returned.form == "arrow":
            output, wrong = join_arrow(values, len(values), self._returned.arrow)
        else:
            output, wrong = self._column(values, failures)
        for row, error in wrong.items():
            failures[row] = Failed(error, Owner.MODEL)
        error, owner = _failure_columns(failures, len(values))
        return CallColumns(self.mask(output), self.mask(error), owner)

    def rows_of(self, outcomes: Outcomes) -> list[RowOutcome]:
        """Each row's result as the function returned it, or its failure: for scorers."""
        is_arrow = self._returned.form == "arrow"
        rows = list(map(RowOutcome, python_values(outcomes.values) if is_arrow else outcomes.values))
        for row, failed in outcomes.failures.items():
            rows[row] = RowOutcome(None, failed.error, failed.owner.value)
        return rows

    def mask(self, array: pa.Array) -> pa.Array:
        """The array with the function's secrets masked in all its text."""
        return masked(array, spellings(self._secret_values()))

    def mask_json(self, array: pa.Array) -> pa.Array:
        """Like `mask`, of JSON text, which stays JSON."""
        return masked_json(array, spellings(self._secret_values()))

    def _run(self, calls: CallList) -> None:
        began = time.monotonic()
        with self._tally.over(calls):
            self._runner.run(calls)
        if is_bare(self._options):
            self._meter.add(calls=len(calls.calls), called_s=time.monotonic() - began)

    def _column(self, values: Sequence[Any], failures: dict[int, Failed]) -> tuple[pa.Array, dict[int, str]]:
        returned = self._returned
        if returned.shape is None:
            raise FunctionError(f"{self.name!r} returns {returned.text}, which no output column can hold")
        output, wrong = column_of(values, returned.shape)
        if giants := refuse_giant_rows(output):
            keep = pa.array([row not in giants for row in range(len(output))])
            output, wrong = pc.if_else(keep, output, pa.scalar(None, output.type)), {**wrong, **giants}
        if not returned.nullable and output.null_count > len(failures) + len(wrong):
            for row, value in enumerate(values):
                if value is None and row not in failures:
                    wrong[row] = f"returned None, declared {returned.text}; declare {returned.text} | None if it may"
        return output, {row: self._redacted(error) for row, error in wrong.items()}

    def _failed(self, error: BaseException) -> Failed:
        return Failed(describe_error(error, secrets=self._secret_values()), owner_of(error))

    def _redacted(self, text: str) -> str:
        return describe_error(TypeError(text), secrets=self._secret_values(), named=False)

    def _secret_values(self) -> list[str]:
        secrets = [*self._options.secrets, *(v for v in self._options.env.values() if isinstance(v, Secret))]
        return [os.environ.get(secret.name, "") for secret in secrets]


def _definition(source: FunctionMaterial | RemoteFunction) -> Definition:
    if isinstance(source, RemoteFunction):
        return source.definition()
    return load_definition(source.payload, source.record, source.sha256)


def _runner(definition: Definition, share: int, limiter: RateLimiter | None, meter: CallMeter) -> Runner:
    import inspect

    options = definition.options
    asked = options.concurrency.max_concurrent if options.concurrency else None
    if inspect.iscoroutinefunction(definition.function):
        in_flight = max(1, (asked or ASYNC_IN_FLIGHT) // share)
        return InLoop(async_call(definition.function, options, limiter, meter), in_flight)
    call = sync_call(definition.function, options, limiter, meter)
    in_flight = max(1, (asked or 1) // share)
    return InThreads(call, in_flight) if in_flight > 1 else InTurn(call)


def _failure_columns(failures: dict[int, Failed], count: int) -> tuple[pa.Array, pa.Array]:
    if not failures:
        return pa.nulls(count, ERROR_TYPE), pa.nulls(count, OWNER_TYPE)
    errors: list[str | None] = [None] * count
    owners: list[str | None] = [None] * count
    for row, failed in failures.items():
        errors[row], owners[row] = failed.error, failed.owner.value
    return pa.array(errors, ERROR_TYPE), pa.array(owners, OWNER_TYPE)
