"""The rows of a result that one asked for, a part at a time, in the order of the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import InputError
from pipeline.evaluation.scores import failed_rows
from pipeline.records import columns
from pipeline.records.names import nearest
from scorers import SqlExpression

if TYPE_CHECKING:
    from pipeline.evaluation.results import ResultFolder
    from scorers._sql import SqlEvaluator

_WHERE = "where"
_AS_SCORER = f"SQL scorer {_WHERE!r}"


class RowFilter(NamedTuple):
    """Which rows are wanted; all conditions together."""

    failed: bool = False
    scorer: str | None = None
    """Alone, it keeps the columns of one scorer; with `failed`, the rows on which it failed."""
    below: float | None = None
    where: str | None = None
    """A SQL expression over the columns of a row, checked like a SQL scorer: it reaches no file."""


def result_rows(folder: ResultFolder, wanted: RowFilter, *, for_eyes: bool) -> Iterator[pa.Table]:
    """The tables of a result, filtered.

    Args:
        folder: a result that is committed.
        wanted: which rows.
        for_eyes: leave out what is for programs: metadata, columns of the runtime, errors of scorers unless asked for.

    Raises:
        DatasetError: no result yet.
        InputError: no such scorer, a floor without a scorer, or an expression that is not allowed.
    """
    names = scorer_names(folder)
    if wanted.below is not None and wanted.scorer is None:
        raise InputError("--below needs --scorer: the scorer whose scores are compared")
    if wanted.scorer is not None and wanted.scorer not in names:
        raise InputError(f"the result has no scorer {wanted.scorer!r}{nearest(wanted.scorer, names)}")
    with ExitStack() as stack, _told_as_where():
        evaluator = stack.enter_context(_evaluator(wanted.where)) if wanted.where is not None else None
        for table in folder.tables():
            kept = _filtered(table, wanted, evaluator)
            yield _without(kept, wanted, names) if for_eyes else kept


def scorer_names(folder: ResultFolder) -> list[str]:
    """The scorers of a result, in order."""
    scorers: Sequence[dict[str, str]] = folder.plan().pins["scorers"]
    return [scorer["name"] for scorer in scorers]


def _filtered(table: pa.Table, wanted: RowFilter, evaluator: SqlEvaluator | None) -> pa.Table:
    if wanted.failed and wanted.scorer is not None:
        owners = pc.map_lookup(table[columns.SCORER_OWNER], pa.scalar(wanted.scorer), "first")
        table = table.filter(pc.is_valid(owners))
    elif wanted.failed:
        table = table.filter(failed_rows(table))
    if wanted.below is not None:
        table = table.filter(
            pc.less(table[f"{wanted.scorer}_value"], wanted.below)
        )  # null is not below: it is no score
    if evaluator is not None:
        table = table.filter(pc.equal(_evaluated(table, evaluator), 1.0))
    return table


def _evaluator(where: str) -> SqlEvaluator:
    from scorers._sql import SqlEvaluator

    return SqlEvaluator([SqlExpression(_WHERE, f"CASE WHEN ({where}) THEN 1 ELSE 0 END")])


def _evaluated(table: pa.Table, evaluator: SqlEvaluator) -> pa.Array:
    """1.0 where the expression is true; columns of the runtime are not to be seen."""
    names = [name for name in table.schema.names if not name.startswith(columns.INTERNAL_PREFIX)]
    values, _ = evaluator.evaluate(table.select(names))
    return values[_WHERE]


@contextmanager
def _told_as_where() -> Iterator[None]:
    """What a SQL scorer says of its expression, said of `--where`."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        if not message.startswith(_AS_SCORER):
            raise
        raise InputError(message.replace(_AS_SCORER, "--where", 1)) from None


def _without(table: pa.Table, wanted: RowFilter, names: Sequence[str]) -> pa.Table:
    hidden = {columns.OWNER, columns.SCORER_OWNER}
    for name in names:
        ends = ["_values", "_metadata"]
        if wanted.scorer is None:
            ends += [] if wanted.failed else ["_error"]
        elif name == wanted.scorer:
            ends = ["_values"]
        else:
            ends += ["_value", "_error"]
        hidden |= {f"{name}{end}" for end in ends}
    kept = [columns.ROW_ID, *(name for name in table.schema.names if name not in hidden | {columns.ROW_ID})]
    return table.select(kept).rename_columns(["row", *kept[1:]])
