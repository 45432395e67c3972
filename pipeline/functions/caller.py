"""Calls a function for the rows of a table, in a worker. A row's failure is a value; nothing is raised."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.errors import FunctionError
from pipeline.functions.batch_results import join_arrow, spread
from pipeline.functions.binding import BoundRows, Call, bind_batches, bind_rows
from pipeline.functions.failures import Failed, RowOutcome, describe_error, owner_of
from pipeline.functions.handle import RemoteFunction
from pipeline.functions.into_arrow import column_of
from pipeline.functions.invoke import async_call, is_bare, sync_call
from pipeline.functions.masked import masked, masked_json
from pipeline.functions.payload import Definition, load_definition
from pipeline.functions.rate import RateLimiter, limiter_of
from pipeline.functions.registry import FunctionMaterial
from pipeline.functions.run_calls import InLoop, InThreads, InTurn, Runner
from pipeline.functions.secret import Secret, spellings
from pipeline.functions.timings import CallMeter, CallTimings
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

    @property
    def timings(self) -> CallTimings:
        """How often the function was called until now, and where the time went."""
        return self._meter.timings

    def close(self) -> None:
        """Give back threads and the event loop."""
        self._runner.close()

    def call(self, rows: pa.Table) -> CallColumns:
        """A task's outputs, checked against the declared type."""
        values, failures = self._results(rows)
        if self._returned.form == "arrow":
            output, wrong = join_arrow(values, rows.num_rows, self._returned.arrow)
        else:
            output, wrong = self._column(values, failures)
        for row, error in wrong.items():
            failures[row] = Failed(error, Owner.MODEL)
        error, owner = _failure_columns(failures, rows.num_rows)
        return CallColumns(self.mask(output), self.mask(error), owner)

    def call_rows(self, rows: pa.Table) -> list[RowOutcome]:
        """Each row's result as the function returned it, or its failure: for scorers."""
        values, failures = self._results(rows)
        if self._returned.form == "arrow":
            output, wrong = join_arrow(values, rows.num_rows, self._returned.arrow)
            values = output.to_pylist()
            failures |= {row: Failed(error, Owner.MODEL) for row, error in wrong.items()}
        outcomes = list(map(RowOutcome, values))
        for row, failed in failures.items():
            outcomes[row] = RowOutcome(None, failed.error, failed.owner.value)
        return outcomes

    def mask(self, array: pa.Array) -> pa.Array:
        """The array with the function's secrets masked in all its text."""
        return masked(array, spellings(self._secret_values()))

    def mask_json(self, array: pa.Array) -> pa.Array:
        """Like `mask`, of JSON text, which stays JSON."""
        return masked_json(array, spellings(self._secret_values()))

    def _results(self, rows: pa.Table) -> tuple[list[Any], dict[int, Failed]]:
        """A result for each row, None where it failed, and the failures."""
        try:
            with _environment(self._options.env):
                if self._options.batch:
                    return self._batches(rows)
                bound = bind_rows(self._definition.signature, rows)
                return self._collect(bound, self._run(bound.calls), rows.num_rows)
        except FunctionError as error:  # a secret or column that is not there, for all rows alike
            failed = Failed(describe_error(error, named=False), Owner.HARNESS)
            return [None] * rows.num_rows, dict.fromkeys(range(rows.num_rows), failed)

    def _run(self, calls: Sequence[Call]) -> list[Any]:
        began = time.monotonic()
        results = self._runner.run(calls, self._failed)
        if is_bare(self._options):
            self._meter.add(calls=len(calls), called_s=time.monotonic() - began)
        return results

    def _batches(self, rows: pa.Table) -> tuple[list[Any], dict[int, Failed]]:
        bound, sizes = bind_batches(self._definition.signature, rows, self._options.batch)
        results = self._run(bound.calls)
        spread_out = [spread(result, size, self._returned) for result, size in zip(results, sizes, strict=True)]
        flat = [item for batch in spread_out for item in batch]
        return self._collect(bound, flat, rows.num_rows)

    def _collect(self, bound: BoundRows, results: list[Any], count: int) -> tuple[list[Any], dict[int, Failed]]:
        failures = bound.failures
        failed = [place for place, result in enumerate(results) if type(result) is Failed]
        for place in failed:
            failures[bound.rows[place]] = results[place]
            results[place] = None
        if len(results) == count:
            return results, failures
        values: list[Any] = [None] * count
        for row, result in zip(bound.rows, results, strict=True):
            values[row] = result
        return values, failures

    def _column(self, values: Sequence[Any], failures: dict[int, Failed]) -> tuple[pa.Array, dict[int, str]]:
        returned = self._returned
        if returned.shape is None:
            raise FunctionError(f"{self.name!r} returns {returned.text}, which no output column can hold")
        output, wrong = column_of(values, returned.shape)
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


@contextmanager
def _environment(env: Any) -> Iterator[None]:
    """Set variables for the time of the calls."""
    if not env:
        yield
        return
    values = {name: item.value() if isinstance(item, Secret) else item for name, item in env.items()}
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
