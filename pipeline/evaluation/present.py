"""Records and states as the handles that callers hold."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pipeline.evaluation.catalog import Catalog
from pipeline.evaluation.handles import Evaluation, EvaluationRun, EvaluationScorer, EvaluationSuite
from pipeline.evaluation.progress import RunProgress
from pipeline.evaluation.results import ResultFolder
from pipeline.evaluation.runner import RunThread, live_run
from pipeline.evaluation.status import RunState, read_state
from pipeline.records.dataset import DatasetRevisionRef
from pipeline.records.evaluation import (
    EvaluationRecord,
    EvaluationRunStatus,
    RunRecord,
    ScorerRecord,
    SuiteRecord,
)

if TYPE_CHECKING:
    from pipeline.evaluation.client import EvaluationClient

pause = time.sleep


def suite_handle(record: SuiteRecord, client: EvaluationClient) -> EvaluationSuite:
    """The handle of a suite."""
    return EvaluationSuite(record.id, record.name, record.created_by, record.created_at, client)


def evaluation_handle(record: EvaluationRecord, client: EvaluationClient) -> Evaluation:
    """The handle of a definition."""
    return Evaluation(
        id=record.id,
        name=record.name,
        dataset=DatasetRevisionRef(dataset_id=record.dataset_id, revision_id=record.dataset_revision_id),
        task_function_version_id=record.task_function_version_id,
        scorers=tuple(_scorer(scorer) for scorer in record.scorers),
        metadata=dict(record.metadata),
        suite_id=record.suite_id,
        partition_by=record.partition_by,
        output_column=record.output_column,
        created_by=record.created_by,
        created_at=record.created_at,
        _client=client,
    )


def _scorer(record: ScorerRecord) -> EvaluationScorer:
    if record.sql_expression is not None:
        return EvaluationScorer(record.id, sql_name=record.name, sql_expression=record.sql_expression)
    if record.builtin is not None:
        return EvaluationScorer(record.id, builtin_id=record.builtin["builtin"])
    return EvaluationScorer(record.id, function_version_id=record.function_version_id)


def run_handle(catalog: Catalog, record: RunRecord, client: EvaluationClient) -> EvaluationRun:
    """The handle of a run, as it stands now."""
    state = read_state(catalog, record.id)
    thread = live_run(catalog.store.url, record.id)
    status, message = _status(state, thread)
    outcome = state.outcome
    return EvaluationRun(
        id=record.id,
        evaluation_id=record.evaluation_id,
        status=status,
        metadata=dict(record.metadata),
        created_by=record.created_by,
        created_at=record.created_at,
        started_at=state.attempt.started_at if state.attempt else None,
        completed_at=outcome.completed_at if outcome else state.ended.ended_at if state.ended else None,
        result_dataset_id=outcome.result_dataset_id if outcome else None,
        result_dataset_revision_id=outcome.result_revision_id if outcome else None,
        error_message=message,
        summary=outcome.summary if outcome else None,
        duration_s=outcome.duration_s if outcome else state.ended.duration_s if state.ended else None,
        progress=_progress(catalog, record, state, thread),
        where=f"{catalog.store.display}/runs/{record.id}",
        _client=client,
    )


def _status(state: RunState, thread: RunThread | None) -> tuple[EvaluationRunStatus, str | None]:
    if thread is None or (state.status.is_terminal and not thread.is_alive):
        return state.status, state.error_message
    if thread.is_alive:
        live = thread.progress.status
        # Terminal only when it is written: whoever waits finds what it says on the store.
        return EvaluationRunStatus.FINALIZING if live.is_terminal else live, None
    if thread.error is not None:  # the store could not even be told
        return EvaluationRunStatus.FAILED, str(thread.error)
    return state.status, state.error_message


def _progress(catalog: Catalog, record: RunRecord, state: RunState, thread: RunThread | None) -> RunProgress | None:
    if thread is not None:
        return thread.progress
    beat = state.heartbeat
    if state.status.is_terminal and state.outcome is None:
        # Parts may have been done since its last sign of life, which is seconds before its end.
        standing = ResultFolder(catalog.store, f"runs/{record.id}").standing_parts()
        if standing is not None:
            return _progress_of(state.status, *standing, failures=beat.failures if beat else {})
    if beat is None:
        return None
    told = beat.parts, beat.parts_done, beat.rows, beat.rows_done
    return _progress_of(state.status, *told, rows_in_work=beat.rows_in_work, failures=beat.failures)


def _progress_of(
    status: EvaluationRunStatus,
    parts: int,
    parts_done: int,
    rows: int,
    rows_done: int,
    *,
    rows_in_work: int = 0,
    failures: dict[str, int],
) -> RunProgress:
    return RunProgress(
        status=status,
        parts=parts,
        parts_done=parts_done,
        rows=rows,
        rows_done=rows_done,
        rows_in_work=rows_in_work,
        failures=failures,
        elapsed_s=0.0,
        rate=None,
        eta_s=None,
    )
