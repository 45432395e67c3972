"""From a definition to work: its plan, and the spec of the workers that carry it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline.engine import Resources
from pipeline.errors import EvaluationError, InputError, UntrustedFunctionError
from pipeline.evaluation.attach import output_type
from pipeline.evaluation.carry_out import Job
from pipeline.evaluation.definition import is_defined_here
from pipeline.evaluation.memory import most_workers, worker_need
from pipeline.evaluation.partition_scan import refuse_too_many_partitions
from pipeline.evaluation.planning import make_plan, parts_at_once
from pipeline.evaluation.worker import EvaluationWork
from pipeline.functions import FunctionMaterial, TrustPolicy, load_function
from pipeline.records.columns import result_schema
from pipeline.records.dataset import Revision
from pipeline.records.evaluation import EvaluationRecord
from pipeline.records.plan import Plan
from pipeline.store import Store, known_digests
from scorers import SqlExpression, builtin_from_json


@dataclass(frozen=True)
class Prepared:
    """A plan, and all that its workers need but the place where it is carried out."""

    inputs: Store
    """Where the dataset's parts are."""
    plan: Plan
    record: EvaluationRecord
    revision: Revision
    functions: Mapping[str, FunctionMaterial]
    """By version id."""

    def job(
        self,
        store: Store,
        prefix: str,
        prepared_s: float = 0.0,
        *,
        memory_limit: int | None = None,
        workers: int | None = None,
    ) -> Job:
        """The work at a place on a store.

        Raises:
            InputError: the memory limit is too little for a worker, or for as many as are asked for.
        """
        work = EvaluationWork(
            store=store,
            prefix=prefix,
            inputs=self.inputs,
            plan_sha256=self.plan.sha256,
            revision=self.revision,
            record=self.record,
            result_schema=self.plan.pins["written_schema"],
            functions=self.functions,
            digests=known_digests(self.revision),
            memory_limit=memory_limit,
        )
        most = self.check_memory(memory_limit, workers)
        return Job(store, prefix, self.plan, work, self.resources(), prepared_s, most)

    def check_memory(self, limit: int | None, workers: int | None) -> int | None:
        """How many workers may share a memory limit; None: no limit. Raises InputError as `job`."""
        records = {version: made.record for version, made in self.functions.items()}
        return most_workers(limit, worker_need(self.record, parts_at_once(self.record, records)), workers)

    def resources(self) -> Resources:
        """What one worker asks of a cluster: the most that any built-in asks for. Functions that ask have pools."""
        asked = [scorer.function_options for scorer in self.record.scorers]
        environments = [options["runtime_env"] for options in asked if options.get("runtime_env")]
        return Resources(
            num_cpus=max([1.0, *(options["num_cpus"] for options in asked if "num_cpus" in options)]),
            num_gpus=max([0.0, *(options.get("num_gpus", 0.0) for options in asked)]),
            memory=max((options["memory"] for options in asked if "memory" in options), default=None),
            runtime_env=merged_environment(environments),
        )


def merged_environment(environments: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The runtime environment that serves all functions of a worker; None where none asks for one.

    Raises:
        InputError: two ask for different things under one key.
    """
    merged: dict[str, Any] = {}
    for environment in environments:
        for key, value in environment.items():
            if merged.setdefault(key, value) != value:
                raise InputError(
                    f"two functions ask for different {key!r} in runtime_env ({merged[key]!r} and {value!r}); "
                    "they run in one worker, so give both the same"
                )
    return merged or None


def prepare(
    store: Store,
    record: EvaluationRecord,
    revision: Revision,
    *,
    limit: int | None = None,
    part_rows: int | None = None,
    trust: TrustPolicy | None = None,
) -> Prepared:
    """The plan of a definition, and what its workers need. Loads no function.

    Args:
        store: where its functions and its dataset's parts are.
        limit: only so many rows from the first; None: all.
        part_rows: rows a part at most; None: after the cost of a row.
    Raises:
        InputError: nothing to score, or more partitions than allowed in rows that are cheap to look at.
        FunctionError, UntrustedFunctionError, CorruptError: a function that may not or cannot be used.
    """
    check_pins(record)
    policy = trust or TrustPolicy.of()
    check_environments(store, record, policy)
    refuse_too_many_partitions(store, revision, record.partition_by, limit)
    functions = load_functions(store, record, policy)
    records = {version: material.record for version, material in functions.items()}
    plan = make_plan(record, revision, records, schema_of(record, revision, functions), limit, part_rows)
    return Prepared(store, plan, record, revision, functions)


def check_pins(record: EvaluationRecord) -> None:
    """Refuse a definition whose scorers are not the ones that it pins.

    Raises:
        EvaluationError: a scorer was changed after it was pinned, or is of another version of assay.
    """
    for scorer in record.scorers:
        if scorer.builtin is not None:
            found = builtin_from_json(scorer.builtin).version
        elif scorer.sql_expression is not None:
            found = SqlExpression(scorer.name, scorer.sql_expression).version
        else:
            continue
        if found != scorer.version:
            raise EvaluationError(
                f"evaluation {record.id}: scorer {scorer.name!r} is pinned as version {scorer.version[:12]} and is "
                f"{found[:12]}: it was changed after it was written, or comes from another version of assay; "
                "create the evaluation again"
            )


def check_environments(store: Store, record: EvaluationRecord, policy: TrustPolicy) -> None:
    """Refuse a runtime environment that a definition from an untrusted store asks for: Ray runs what it names.

    Raises:
        UntrustedFunctionError: neither this process made the definition, nor is the store trusted.
    """
    asking = [scorer.name for scorer in record.scorers if scorer.function_options.get("runtime_env")]
    if asking and not is_defined_here(record) and not policy.trusts_store(store):
        raise UntrustedFunctionError(
            f"scorer {asking[0]!r} asks for a runtime_env, which runs programs, and {store.display} is not trusted: "
            f"allow it with --trust {store.url}"
        )


def load_functions(
    store: Store, record: EvaluationRecord, trust: TrustPolicy | None = None
) -> dict[str, FunctionMaterial]:
    """What the workers make the functions of a definition from, by version id."""
    policy = trust or TrustPolicy.of()
    ids = [record.task_function_version_id, *(scorer.function_version_id for scorer in record.scorers)]
    return {version: load_function(store, version, trusted=policy) for version in dict.fromkeys(ids) if version}


def schema_of(record: EvaluationRecord, revision: Revision, functions: Mapping[str, FunctionMaterial]) -> pa.Schema:
    """The columns of the result of a definition."""
    material = functions.get(record.task_function_version_id or "")
    dataset = revision.to_arrow_schema()
    output = output_type(dataset, material.record if material else None, record.output_column)
    return result_schema(dataset, output, record.scorers)
