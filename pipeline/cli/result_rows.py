"""The rows of a result that one asked for, a part at a time, in the order of the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import InputError
from pipeline.evaluation.scores import failed_rows
from pipeline.records import columns
from pipeline.records.names import nearest

if TYPE_CHECKING:
    from pipeline.evaluation.results import ResultFolder
    from pipeline.evaluation.where import ReadTally

_WHERE = "where: "


class RowFilter(NamedTuple):
    """Which rows are wanted; all conditions together."""

    failed: bool = False
    scorer: str | None = None
    """Alone, it keeps the columns of one scorer; with `failed`, the rows on which it failed."""
    below: float | None = None
    where: str | None = None
    """A boolean SQL expression over all columns of a row, checked like a SQL scorer: it reaches no file."""
    columns: tuple[str, ...] = ()
    """Only these columns, in this order; none: all, or those for eyes."""


def result_rows(folder: ResultFolder, wanted: RowFilter, tally: ReadTally, *, for_eyes: bool) -> Iterator[pa.Table]:
    """The tables of a result, filtered. Only the columns that are shown or asked about are read.

    Args:
        folder: a result that is committed.
        wanted: which rows.
        tally: takes down what is read.
        for_eyes: leave out what is for programs: metadata, columns of the runtime, errors of scorers unless asked for.
            Of failed rows, who is to blame is shown: of the output as `owner`, of scores as `failed_scorers`.

    Raises:
        DatasetError: no result yet.
        InputError: no such scorer or column, a floor without a scorer, or an expression that is not allowed.
    """
    names = scorer_names(folder)
    if wanted.below is not None and wanted.scorer is None:
        raise InputError("--below needs --scorer: the scorer whose scores are compared")
    if wanted.scorer is not None and wanted.scorer not in names:
        raise InputError(f"the result has no scorer {wanted.scorer!r}{nearest(wanted.scorer, names)}")
    with _told_as_option():
        read = folder.read(_columns_to_read(folder, wanted, names, for_eyes=for_eyes), wanted.where)
    for table in read.tables(tally):
        kept = _filtered(table, wanted)
        if wanted.columns:
            yield kept.select(list(wanted.columns))
        else:
            yield _for_eyes(kept, wanted, names) if for_eyes else kept


def _columns_to_read(
    folder: ResultFolder, wanted: RowFilter, names: Sequence[str], *, for_eyes: bool
) -> list[str] | None:
    asked = [columns.ROW_ID, columns.OUTPUT_ERROR, columns.SCORER_OWNER]
    if wanted.columns:
        value = [f"{wanted.scorer}_value"] if wanted.below is not None else []
        return list(dict.fromkeys([*wanted.columns, *value, *(asked if wanted.failed else [])]))
    if not for_eyes:
        return None
    hidden = _hidden(wanted, names).difference(asked)
    return [name for name in folder.schema().names if name not in hidden]


def scorer_names(folder: ResultFolder) -> list[str]:
    """The scorers of a result, in order."""
    scorers: Sequence[dict[str, str]] = folder.plan().pins["scorers"]
    return [scorer["name"] for scorer in scorers]


def _filtered(table: pa.Table, wanted: RowFilter) -> pa.Table:
    if wanted.failed and wanted.scorer is not None:
        owners = pc.map_lookup(table[columns.SCORER_OWNER], pa.scalar(wanted.scorer), "first")
        table = table.filter(pc.is_valid(owners))
    elif wanted.failed:
        table = table.filter(failed_rows(table))
    if wanted.below is not None:
        table = table.filter(
            pc.less(table[f"{wanted.scorer}_value"], wanted.below)
        )  # null is not below: it is no score
    return table


@contextmanager
def _told_as_option() -> Iterator[None]:
    """What is said of a condition, said of `--where`."""
    try:
        yield
    except InputError as error:
        message = str(error)
        raise InputError(f"--{message}" if message.startswith(_WHERE) else message) from None


def _for_eyes(table: pa.Table, wanted: RowFilter, names: Sequence[str]) -> pa.Table:
    hidden = _hidden(wanted, names)
    shown: dict[str, pa.ChunkedArray | pa.Array] = {columns.ROW_ID: table[columns.ROW_ID]}
    shown |= {name: table[name] for name in table.schema.names if name not in hidden}
    if wanted.failed:
        shown[columns.SCORER_OWNER] = _blamed(table[columns.SCORER_OWNER])
    titles = {columns.ROW_ID: "row", columns.OWNER: "owner", columns.SCORER_OWNER: "failed_scorers"}
    order = [name for name in shown if name not in (columns.OWNER, columns.SCORER_OWNER)]
    if wanted.failed:  # who is to blame stands right behind what happened
        place = order.index(columns.OUTPUT_ERROR) + 1
        order[place:place] = [columns.OWNER, columns.SCORER_OWNER]
    return pa.table([shown[name] for name in order], names=[titles.get(name, name) for name in order])


def _hidden(wanted: RowFilter, names: Sequence[str]) -> set[str]:
    hidden = {columns.ROW_ID, columns.SCORER_OWNER}
    for name in names:
        ends = ["_values", "_metadata"]
        if wanted.scorer is None:
            ends += [] if wanted.failed else ["_error"]
        elif name == wanted.scorer:
            ends = ["_values"]
        else:
            ends += ["_value", "_error"]
        hidden |= {f"{name}{end}" for end in ends}
    return hidden


def _blamed(owners: pa.ChunkedArray) -> pa.Array:
    """`exact: data, judge: judge` a row; null where no scorer failed."""
    rows = owners.to_pylist(maps_as_pydicts="lossy")
    texts = [", ".join(f"{name}: {owner}" for name, owner in row.items()) if row else None for row in rows]
    return pa.array(texts, pa.large_string())
