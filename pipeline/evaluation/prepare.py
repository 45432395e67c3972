"""From a definition to work: its plan, and the spec of the workers that carry it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from pipeline.evaluation.attach import output_type
from pipeline.evaluation.carry_out import Job
from pipeline.evaluation.catalog import Catalog
from pipeline.evaluation.planning import make_plan
from pipeline.evaluation.worker import EvaluationWork
from pipeline.records.columns import result_schema
from pipeline.records.dataset import Revision
from pipeline.records.evaluation import EvaluationRecord
from pipeline.records.function import FunctionRecord
from pipeline.records.plan import Plan
from pipeline.store import Store, read_revision


@dataclass(frozen=True)
class Prepared:
    """A plan, and all that its workers need but the place."""

    store: Store
    plan: Plan
    record: EvaluationRecord
    revision: Revision
    functions: Mapping[str, FunctionRecord]
    prepared_s: float = 0.0

    def job(self, prefix: str) -> Job:
        """The work at a place below the store's root."""
        work = EvaluationWork(
            store=self.store,
            prefix=prefix,
            plan_sha256=self.plan.sha256,
            revision=self.revision,
            record=self.record,
            result_schema=self.plan.pins["result_schema"],
            functions=dict(self.functions),
        )
        return Job(self.store, prefix, self.plan, work, self.prepared_s)
