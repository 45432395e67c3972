"""Define an evaluation: check everything that can be checked before any work, and pin it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pipeline.evaluation.attach import attach_scorers, attach_task, check_scorers, check_task, output_type
from pipeline.evaluation.catalog import current_user, new_id, utc_now
from pipeline.evaluation.partitions import check_partition_columns
from pipeline.formats.canonical_json import canonical_json
from pipeline.functions import TrustPolicy
from pipeline.records.columns import check_collisions, check_dataset_columns
from pipeline.records.dataset import Revision
from pipeline.records.evaluation import EvaluationRecord
from pipeline.store import Store, as_ref, resolve_revision

_defined_here: set[str] = set()


def define(
    store: Store,
    name: str,
    *,
    dataset: Any,
    task: Any,
    scorers: Iterable[Any],
    metadata: Mapping[str, Any] | None = None,
    suite: Callable[[], str],
    partition_by: Sequence[str] = (),
    output_column: str | None = None,
    trust: TrustPolicy | None = None,
) -> EvaluationRecord:
    """Check and pin the parts of an evaluation. Deploys functions to the store, and writes nothing else.

    Args:
        store: where functions are deployed and datasets are looked up.
        dataset: a Revision, or whatever names one.
        suite: the id of the suite; called when the arguments have been found good by themselves.

    Raises:
        TypeError, ValueError: arguments that are wrong by themselves; checked before anything is asked of the store.
        DatasetError, FunctionError, EvaluationError: parts that cannot be found or do not fit.
    """
    check_task(task, output_column)
    name = checked_name(name)
    ref = dataset if isinstance(dataset, Revision) else as_ref(dataset)
    wanted = check_scorers(scorers)
    kept = checked_metadata(metadata)
    suite_id = suite()
    revision = ref if isinstance(ref, Revision) else resolve_revision(store, ref)
    schema = revision.to_arrow_schema()
    check_dataset_columns(schema.names, output_column)
    check_partition_columns(partition_by, schema)
    function = attach_task(store, task, schema, trust)
    output = output_type(schema, function, output_column)
    attached = attach_scorers(store, wanted, schema, output, trust)
    check_collisions(schema.names, attached)
    record = EvaluationRecord(
        id=new_id(),
        name=name,
        dataset_id=revision.dataset,
        dataset_revision_id=revision.id,
        task_name=function.name if function else None,
        task_function_version_id=function.version_id if function else None,
        output_column=output_column,
        scorers=attached,
        partition_by=tuple(partition_by),
        metadata=kept,
        suite_id=suite_id,
        created_by=current_user(),
        created_at=utc_now(),
    )
    _defined_here.add(record.definition_sha256)
    return record


def is_defined_here(record: EvaluationRecord) -> bool:
    """Whether this process made the definition, or an equal one."""
    return record.definition_sha256 in _defined_here


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
