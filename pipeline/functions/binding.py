"""Rows to calls: each parameter's values from the column of its name, and the rows that cannot be bound."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.errors import FunctionSignatureError
from pipeline.functions.failures import Failed
from pipeline.functions.into_python import arguments
from pipeline.functions.signature import Signature, Slot
from pipeline.records.owners import Owner

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""


class BoundRows(NamedTuple):
    """The arguments for some rows."""

    rows: Sequence[int]
    """The rows that can be called, in order."""
    calls: list[Call]
    failures: dict[int, Failed]
    """The others."""


def bind_rows(signature: Signature, table: pa.Table) -> BoundRows:
    """One call for each row whose values convert."""
    bound, failures = _bind_values(signature.slots, table)
    positional = [bound[slot.name] for slot in signature.slots if not slot.is_keyword]
    names = [slot.name for slot in signature.slots if slot.is_keyword]
    count = table.num_rows
    args: Sequence[tuple[Any, ...]] = list(zip(*positional, strict=True)) if positional else [()] * count
    if names:
        kwargs = [dict(zip(names, v, strict=True)) for v in zip(*(bound[name] for name in names), strict=True)]
        calls = list(zip(args, kwargs, strict=True))
    else:
        nothing: dict[str, Any] = {}
        calls = [(one, nothing) for one in args]
    if not failures:
        return BoundRows(range(count), calls, failures)
    rows = [row for row in range(count) if row not in failures]
    return BoundRows(rows, [calls[row] for row in rows], failures)


def bind_batches(
    signature: Signature, table: pa.Table, size: int, wanted: Container[int] | None = None
) -> tuple[BoundRows, list[int]]:
    """One call for each `size` rows whose values convert, and how many rows each call has.

    Args:
        wanted: the rows to call; the others are left out of their batches. None: all.
    """
    bound, failures = _bind_values(signature.slots, table)
    rows: Sequence[int] = range(table.num_rows)
    if failures:
        rows = [row for row in rows if row not in failures]
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]
    if wanted is not None:
        batches = [kept for batch in batches if (kept := [row for row in batch if row in wanted])]
        rows = [row for batch in batches for row in batch]
    if len(rows) != table.num_rows:
        table = table.take(pa.array(rows, pa.int64()))
        bound = {name: [values[row] for row in rows] for name, values in bound.items()}
    calls: list[Call] = []
    start = 0
    for batch in batches:
        given = {slot.name: _slice(slot, table, bound, start, len(batch)) for slot in signature.slots}
        args = tuple(given[slot.name] for slot in signature.slots if not slot.is_keyword)
        calls.append((args, {slot.name: given[slot.name] for slot in signature.slots if slot.is_keyword}))
        start += len(batch)
    return BoundRows(rows, calls, failures), [len(batch) for batch in batches]


def _slice(slot: Slot, table: pa.Table, bound: dict[str, list[Any]], start: int, count: int) -> Any:
    if slot.form == "table":
        return table.slice(start, count)
    if slot.name not in table.column_names:
        return slot.default
    if slot.form == "list":
        return bound[slot.name][start : start + count]
    return table[slot.name].slice(start, count).combine_chunks()


def _bind_values(slots: Sequence[Slot], table: pa.Table) -> tuple[dict[str, list[Any]], dict[int, Failed]]:
    bound: dict[str, list[Any]] = {}
    failures: dict[int, Failed] = {}
    for slot in slots:
        if slot.name in table.column_names and slot.shape is not None:
            bound[slot.name], errors = _values(slot, table[slot.name])
            for row, error in errors.items():
                failures.setdefault(row, Failed(f"column {slot.name!r} {error}", Owner.DATA))
        elif slot.form == "value" and slot.has_default:
            bound[slot.name] = [slot.default] * table.num_rows
        elif slot.name not in table.column_names and not slot.has_default and slot.form != "table":
            raise FunctionSignatureError(f"column {slot.name!r} is missing")
    return bound, failures


def _values(slot: Slot, column: pa.ChunkedArray) -> tuple[list[Any], dict[int, str]]:
    """A column's values; null becomes None where the annotation admits it, else the default, else an error."""
    assert slot.shape is not None
    values, errors = arguments(column, slot.shape)
    if column.null_count == 0 or slot.nullable:
        return values, errors
    for row in _nulls(values):
        if row in errors:
            continue
        if slot.has_default and slot.form == "value":
            values[row] = slot.default
        else:
            errors[row] = f"is null, and the parameter is not: annotate it {slot.shape.text} | None to be called"
    return values, errors


def _nulls(values: Sequence[Any]) -> Iterator[int]:
    return (row for row, value in enumerate(values) if value is None)
