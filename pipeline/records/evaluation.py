"""Evaluations: the immutable definition, one execution of it, and the suites that hold them."""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

from pydantic import Field

from pipeline.records.base import Document, Record
from pipeline.records.digest import Sha256, digest_json
from pipeline.records.summary import Summary


class EvaluationRunStatus(str, Enum):  # noqa: UP042 - a StrEnum prints its value, users expect the member's name
    """Where a run stands."""

    UNSPECIFIED = "unspecified"
    PENDING = "pending"
    RUNNING = "running"
    FINALIZING = "finalizing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def is_terminal(self) -> bool:
        """Whether a run that has this status has ended."""
        return self in (self.SUCCEEDED, self.FAILED, self.CANCELED)


class ScorerRecord(Record):
    """One scorer of an evaluation, pinned."""

    id: str
    """Local to the evaluation."""
    name: str
    inputs: tuple[str, ...]
    """The columns it reads."""
    version: str
    """Digest of what decides its scores."""
    function_version_id: Sha256 | None = None
    builtin: dict[str, Any] | None = None
    """`{builtin, name, inputs, options}` from which a built-in is made again."""
    function_options: dict[str, Any] = Field(default_factory=dict)
    """What a built-in was asked for beside its own options, such as resources; checked when it was defined."""
    sql_expression: str | None = None
    emits_list: bool = False
    """Whether it returns a list of results a row."""


class EvaluationRecord(Document):
    """The immutable definition: data, task and scorers, pinned."""

    schema_name: ClassVar[str] = "assay.evaluation"

    id: str
    name: str
    dataset_id: str
    dataset_revision_id: str
    task_name: str | None
    task_function_version_id: Sha256 | None
    output_column: str | None
    """The dataset column that is scored, where no task makes an output."""
    scorers: tuple[ScorerRecord, ...]
    partition_by: tuple[str, ...]
    metadata: dict[str, Any]
    suite_id: str
    created_by: str
    created_at: str

    @property
    def definition_sha256(self) -> str:
        """Digest of what is evaluated: equal definitions made twice have equal digests."""
        return digest_json(self.model_dump(mode="json", exclude={"id", "created_by", "created_at"}))


class SuiteRecord(Document):
    """A named collection of evaluations."""

    schema_name: ClassVar[str] = "assay.suite"

    id: str
    name: str
    created_by: str
    created_at: str


class RunRecord(Document):
    """One execution, as it was asked for."""

    schema_name: ClassVar[str] = "assay.run"

    id: str
    evaluation_id: str
    metadata: dict[str, Any]
    plan_sha256: Sha256
    created_by: str
    created_at: str


class AttemptStarted(Document):
    """A process has begun to drive a run."""

    schema_name: ClassVar[str] = "assay.attempt-started"

    attempt: int
    host: str
    pid: int
    engine: str
    started_at: str


class AttemptEnded(Document):
    """That process has stopped driving it."""

    schema_name: ClassVar[str] = "assay.attempt-ended"

    attempt: int
    status: EvaluationRunStatus
    error_message: str | None
    duration_s: float
    """Reading to commit, without the engine's start."""
    ended_at: str


class CancelRequest(Document):
    """Somebody asks the process that drives a run to stop."""

    schema_name: ClassVar[str] = "assay.cancel"

    requested_by: str
    requested_at: str


class Heartbeat(Document):
    """A sign of life. The only object that is overwritten; nothing rests on it."""

    schema_name: ClassVar[str] = "assay.heartbeat"

    at: str
    status: EvaluationRunStatus
    parts: int
    parts_done: int
    rows: int
    rows_done: int
    rows_in_work: int = 0
    """That are done of parts that are not."""
    failures: dict[str, int]


class Outcome(Document):
    """The end of a run that succeeded."""

    schema_name: ClassVar[str] = "assay.outcome"

    rows: int
    result_dataset_id: str
    result_revision_id: str
    summary: Summary
    completed_at: str
    duration_s: float
    """Reading to commit of the attempt that committed, without the engine's start."""
