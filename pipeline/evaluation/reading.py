"""Read the result of a run or of a plain folder, however the caller names it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pipeline.errors import DatasetError
from pipeline.evaluation.catalog import Catalog
from pipeline.evaluation.handles import EvaluationRun
from pipeline.evaluation.results import ResultFolder
from pipeline.evaluation.scores import Scores
from pipeline.store import Store, open_store


def read_results(
    run: Any, *, columns: Sequence[str] | None = None, where: str | None = None, store: Any = None
) -> Scores:
    """The rows of a result in the order of the dataset, and its summary. Rows are read when they are first asked for.

    Args:
        run: an EvaluationRun, a run id, or the folder that `assay score --to` wrote.
        columns: only these, in this order; None: all.
        where: only rows on which this is true: a boolean SQL expression over all columns of the result, of what a SQL
            scorer may use (`scorers/SQL.md`). A row on which it is null or fails is left out. Files in folders that
            cannot hold such a row are not read. The summary stays that of all rows.
        store: where a run id is looked up; None: ASSAY_STORE, else `.assay`.

    Raises:
        EvaluationNotFoundError: no such run.
        DatasetError: no result yet, or none at all.
        InputError: no such column, or a condition that is not allowed.
        CorruptError: when rows are read: a file is not the one that was committed.
    """
    folder = find_result(run, store)
    outcome = folder.outcome()
    if outcome is None:
        folder.manifest()
        raise DatasetError(f"{folder.where} is committed but not concluded: run the same command again", 404)
    read = folder.read(columns, where)
    if read.where is not None:
        read.where.close()  # nobody knows when the rows will be asked for
    return Scores(read, outcome.summary)


def result_files(run: Any, *, store: Any = None) -> list[str]:
    """The files of a result and nothing else: paths where the store is local, else URLs. Found as by `read_results`."""
    return find_result(run, store).files()


def iter_results(
    run: Any, *, columns: Sequence[str] | None = None, where: str | None = None, store: Any = None
) -> Iterator[pa.Table]:
    """The rows of a result, a part at a time, in the order of the dataset. Arguments and errors as `read_results`."""
    return find_result(run, store).tables(columns, where)


def find_result(run: Any, store: Any = None) -> ResultFolder:
    """Where a result is. Arguments and errors as `read_results`."""
    if isinstance(run, EvaluationRun):
        client = run._held()
        return ResultFolder(client.store, f"runs/{run.id}")
    if isinstance(run, os.PathLike) or "/" in str(run) or os.path.isdir(str(run)):
        return ResultFolder(Store(run), "")
    opened = open_store(store)
    return ResultFolder(opened, f"runs/{Catalog(opened).run(str(run)).id}")
