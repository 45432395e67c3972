"""Define an evaluation: check everything that can be checked before any work, and pin it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.evaluation.attach import AttachedScorer, attach_scorers, attach_task
from pipeline.evaluation.catalog import Catalog, current_user, new_id, utc_now
from pipeline.evaluation.partitions import check_partition_columns
from pipeline.formats.canonical_json import canonical_json
from pipeline.records import columns
from pipeline.records.columns import check_collisions, check_dataset_columns, result_schema
from pipeline.records.dataset import DatasetRevisionRef, Revision
from pipeline.records.evaluation import EvaluationRecord
from pipeline.records.function import FunctionRecord
from pipeline.records.names import nearest
from pipeline.store import resolve_revision


@dataclass(frozen=True)
class Definition:
    """A definition with what it took to make it."""

    record: EvaluationRecord
    revision: Revision
    functions: Mapping[str, FunctionRecord]
    """By version id."""
    schema: pa.Schema
    """Of the result."""


def define(
    catalog: Catalog,
    name: str,
    *,
    dataset: Any,
    task: Any,
    scorers: Iterable[Any],
    metadata: Mapping[str, Any] | None = None,
    suite_id: str | None = None,
    partition_by: Sequence[str] = (),
    output_column: str | None = None,
) -> Definition:
    """Check and pin the parts of an evaluation. Writes functions, and no evaluation.

    Raises:
        TypeError, ValueError: arguments that no store has to be asked for.
        DatasetError, EvaluationError, FunctionError: parts that cannot be found or do not fit.
    """
    task_record = attach_task(catalog.store, task, output_column)
    name = checked_name(name)
    revision = dataset if isinstance(dataset, Revision) else resolve_revision(catalog.store, dataset)
    schema = revision.to_arrow_schema()
    check_dataset_columns(schema.names, output_column)
    output = _output_type(schema, task_record, output_column)
    attached = attach_scorers(catalog.store, scorers, schema, output)
    if task_record is not None:
        attached.bind_task(task_record.function, schema)
    records = tuple(scorer.record for scorer in attached.scorers)
    check_collisions(schema.names, records)
    check_partition_columns(partition_by, schema)
    record = EvaluationRecord(
        id=new_id(),
        name=name,
        dataset_id=revision.dataset,
        dataset_revision_id=revision.id,
        task_name=task_record.name if task_record else None,
        task_function_version_id=task_record.version_id if task_record else None,
        output_column=output_column,
        scorers=records,
        partition_by=tuple(partition_by),
        metadata=checked_metadata(metadata),
        suite_id=_suite(catalog, suite_id),
        created_by=current_user(),
        created_at=utc_now(),
    )
    return Definition(record, revision, {}, result_schema(schema, output, records))


def checked_name(name: str) -> str:
    """The stripped name of an evaluation or a suite. Raises TypeError, ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"name must be text, found {type(name).__name__}")
    if not name.strip():
        raise ValueError("name must not be empty")
    return name.strip()


def checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of metadata that JSON can carry. Raises TypeError."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata must be a mapping with text keys, found {type(metadata).__name__}")
    bad = [key for key in metadata if not isinstance(key, str)]
    if bad:
        raise TypeError(f"metadata keys must be text, found {bad[0]!r}")
    try:
        canonical_json(dict(metadata))
    except (ValueError, TypeError, RecursionError) as error:
        raise TypeError(f"metadata must be JSON-serializable: {error}") from None
    return dict(metadata)
