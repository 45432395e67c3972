"""After the commit: the result becomes a dataset revision, and the outcome says what it amounts to."""

from __future__ import annotations

from pipeline.evaluation.carry_out import Committed, Job
from pipeline.evaluation.catalog import utc_now
from pipeline.evaluation.results import ResultFolder
from pipeline.records.evaluation import EvaluationRecord, Outcome
from pipeline.records.plan import Manifest
from pipeline.records.summary import Summary, summarise
from pipeline.store import register_revision


def result_dataset_id(run_id: str) -> str:
    """The dataset under which the result of a run is registered."""
    return f"run-{run_id.lower()}"


def conclude(job: Job, evaluation: EvaluationRecord, dataset: str, committed: Committed) -> Outcome:
    """Register the result of a run and write `outcome.json`; returns the outcome that stands.

    Args:
        dataset: the name under which a run's result is registered; a plain folder's is not.
    """
    manifest = committed.manifest
    folder = ResultFolder(job.store, job.prefix)
    revision = folder.revision(manifest, dataset)
    if job.prefix:
        register_revision(job.store, revision, name=None)
    outcome = Outcome(
        rows=manifest.rows,
        result_dataset_id=revision.dataset,
        result_revision_id=revision.id,
        summary=summary_of(evaluation, manifest),
        completed_at=utc_now(),
        duration_s=round(committed.duration_s, 6),
    )
    key = folder.key("outcome.json")
    return Outcome.from_bytes(job.store.create(key, outcome.to_bytes()), where=key)


def summary_of(evaluation: EvaluationRecord, manifest: Manifest) -> Summary:
    """What a committed plan amounts to."""
    names = [scorer.name for scorer in evaluation.scorers]
    return summarise(manifest.rows, names, (receipt.sums for receipt in manifest.receipts))
