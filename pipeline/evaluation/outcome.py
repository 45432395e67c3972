"""After the commit: the result becomes a dataset revision, and the outcome says what it amounts to."""

from __future__ import annotations

from pipeline.errors import MissingError
from pipeline.evaluation.carry_out import Committed, Job
from pipeline.evaluation.catalog import utc_now
from pipeline.records.dataset import PartFile, Revision
from pipeline.records.evaluation import EvaluationRecord, Outcome
from pipeline.records.plan import Manifest
from pipeline.records.summary import Summary, summarise
from pipeline.store import Store, register_revision


def result_dataset_id(run_id: str) -> str:
    """The dataset under which the result of a run is registered."""
    return f"run-{run_id.lower()}"


def conclude(job: Job, evaluation: EvaluationRecord, run_id: str, committed: Committed) -> Outcome:
    """Register the result and write `outcome.json`; returns the outcome that stands."""
    manifest = committed.manifest
    revision = Revision(
        dataset=result_dataset_id(run_id) if job.prefix else "result",
        arrow_schema=job.plan.pins["result_schema"],
        parts=tuple(_part_files(job.prefix, manifest)),
        source={"kind": "run", "from": run_id},
    )
    if job.prefix:
        register_revision(job.store, revision)
    outcome = Outcome(
        rows=manifest.rows,
        result_dataset_id=revision.dataset,
        result_revision_id=revision.id,
        summary=summary_of(evaluation, manifest),
        completed_at=utc_now(),
        duration_s=round(committed.duration_s, 6),
    )
    key = f"{job.prefix}/outcome.json" if job.prefix else "outcome.json"
    return Outcome.from_bytes(job.store.create(key, outcome.to_bytes()), where=key)


def summary_of(evaluation: EvaluationRecord, manifest: Manifest) -> Summary:
    """What a committed plan amounts to."""
    names = [scorer.name for scorer in evaluation.scorers]
    return summarise(manifest.rows, names, (receipt.sums for receipt in manifest.receipts))


def read_outcome(store: Store, prefix: str) -> Outcome | None:
    """The outcome in a result folder; None where there is none."""
    key = f"{prefix}/outcome.json" if prefix else "outcome.json"
    try:
        return Outcome.from_bytes(store.read(key), where=f"{store.display}/{key}")
    except MissingError:
        return None


def _part_files(prefix: str, manifest: Manifest) -> list[PartFile]:
    return [
        PartFile(
            path=f"{prefix}/{file.path}" if prefix else file.path, rows=file.rows, bytes=file.bytes, sha256=file.sha256
        )
        for receipt in manifest.receipts
        for file in receipt.files
    ]
