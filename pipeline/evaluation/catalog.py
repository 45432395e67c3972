"""Where evaluations, suites and runs stand on the store, and how they are found."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TypeVar

from ulid import ULID

from pipeline.errors import EvaluationNotFoundError, MissingError
from pipeline.records.base import Document
from pipeline.records.evaluation import (
    AttemptEnded,
    AttemptStarted,
    CancelRequest,
    EvaluationRecord,
    Heartbeat,
    Outcome,
    RunRecord,
    SuiteRecord,
)
from pipeline.store import Store

DEFAULT_SUITE = "Default"
AnyDocument = TypeVar("AnyDocument", bound=Document)


def new_id() -> str:
    """A ULID: 26 characters that sort by time."""
    return str(ULID())


def utc_now() -> str:
    """The time as RFC 3339 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def current_user() -> str:
    """The name of the user at this machine, or `unknown`."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without an entry for its uid
        return "unknown"


class Catalog:
    """The objects of evaluations below a store's root."""

    def __init__(self, store: Store) -> None:
        self.store = store

    # -- suites ------------------------------------------------------------------------------------------------

    def create_suite(self, name: str) -> SuiteRecord:
        """Make a suite; names may repeat, ids do not."""
        suite = SuiteRecord(id=new_id(), name=name, created_by=current_user(), created_at=utc_now())
        self.store.create(f"suites/{suite.id}.json", suite.to_bytes())
        return suite

    def suites(self) -> list[SuiteRecord]:
        """All suites, newest first."""
        return [self._read(key, SuiteRecord) for key in reversed(self.store.list("suites/")) if key.endswith(".json")]

    def suite(self, suite_id: str) -> SuiteRecord:
        """One suite. Raises EvaluationNotFoundError."""
        return self._get(f"suites/{suite_id}.json", SuiteRecord, f"suite {suite_id!r}")

    def default_suite(self) -> SuiteRecord:
        """The suite of evaluations that name none; made when it is first needed."""
        found = [suite for suite in self.suites() if suite.name == DEFAULT_SUITE]
        return found[-1] if found else self.create_suite(DEFAULT_SUITE)

    # -- evaluations -------------------------------------------------------------------------------------------

    def add_evaluation(self, record: EvaluationRecord) -> None:
        """Write a definition; it never changes after."""
        self.store.create(f"evaluations/{record.id}.json", record.to_bytes())

    def evaluation(self, evaluation_id: str) -> EvaluationRecord:
        """One definition. Raises EvaluationNotFoundError."""
        return self._get(f"evaluations/{evaluation_id}.json", EvaluationRecord, f"evaluation {evaluation_id!r}")

    def evaluations(self) -> Iterator[EvaluationRecord]:
        """All definitions, newest first."""
        for key in reversed(self.store.list("evaluations/")):
            if key.count("/") == 1 and key.endswith(".json"):
                yield self._read(key, EvaluationRecord)

    def find_equal(self, record: EvaluationRecord) -> EvaluationRecord | None:
        """The newest definition that is equal to this one but for its id and birth."""
        wanted = record.definition_sha256
        return next((found for found in self.evaluations() if found.definition_sha256 == wanted), None)

    # -- runs --------------------------------------------------------------------------------------------------

    def add_run(self, run: RunRecord) -> None:
        """Write a run, then the marker under its evaluation: a marker always names a run that is there."""
        self.store.create(f"runs/{run.id}/run.json", run.to_bytes())
        self.store.create(f"evaluations/{run.evaluation_id}/runs/{run.id}", run.to_bytes())

    def run(self, run_id: str) -> RunRecord:
        """One run. Raises EvaluationNotFoundError."""
        return self._get(f"runs/{run_id}/run.json", RunRecord, f"run {run_id!r}")

    def runs(self, evaluation_id: str) -> Iterator[RunRecord]:
        """The runs of one evaluation, newest first."""
        for key in reversed(self.store.list(f"evaluations/{evaluation_id}/runs/")):
            yield self.run(key.rsplit("/", 1)[1])

    def all_runs(self) -> Iterator[RunRecord]:
        """The runs of all evaluations, newest first."""
        ids = {key.split("/")[3] for key in self.store.list("evaluations/") if "/runs/" in key}
        for run_id in sorted(ids, reverse=True):
            yield self.run(run_id)

    def outcome(self, run_id: str) -> Outcome | None:
        """What a run that succeeded amounts to; None for others."""
        return self._find(f"runs/{run_id}/outcome.json", Outcome)

    # -- attempts ----------------------------------------------------------------------------------------------

    def last_attempt(self, run_id: str) -> AttemptStarted | None:
        """The newest attempt at a run; None where nothing has driven it yet."""
        found = None
        while attempt := self._find(
            _attempt_key(run_id, (found.attempt if found else 0) + 1, "started"), AttemptStarted
        ):
            found = attempt
        return found

    def start_attempt(self, run_id: str, attempt: AttemptStarted) -> bool:
        """Claim the attempt's number; False where another process was faster."""
        mine = attempt.to_bytes()
        return self.store.create(_attempt_key(run_id, attempt.attempt, "started"), mine) == mine

    def end_attempt(self, run_id: str, ended: AttemptEnded) -> None:
        """Write how an attempt ended."""
        self.store.create(_attempt_key(run_id, ended.attempt, "ended"), ended.to_bytes())

    def ended(self, run_id: str, attempt: int) -> AttemptEnded | None:
        """How an attempt ended; None while it goes on, or when it was killed."""
        return self._find(_attempt_key(run_id, attempt, "ended"), AttemptEnded)

    def beat(self, run_id: str, attempt: int, heartbeat: Heartbeat) -> None:
        """Overwrite the sign of life."""
        self.store.write(_attempt_key(run_id, attempt, "heartbeat"), heartbeat.to_bytes())

    def heartbeat(self, run_id: str, attempt: int) -> Heartbeat | None:
        """The newest sign of life of an attempt."""
        return self._find(_attempt_key(run_id, attempt, "heartbeat"), Heartbeat)

    def request_cancel(self, run_id: str, attempt: int) -> None:
        """Ask the process that drives this attempt to stop."""
        request = CancelRequest(requested_by=current_user(), requested_at=utc_now())
        self.store.create(_attempt_key(run_id, attempt, "cancel"), request.to_bytes())

    def cancel_requested(self, run_id: str, attempt: int) -> bool:
        """Whether somebody asked for it."""
        return self.store.exists(_attempt_key(run_id, attempt, "cancel"))

    # -- reading -----------------------------------------------------------------------------------------------

    def _read(self, key: str, kind: type[AnyDocument]) -> AnyDocument:
        return kind.from_bytes(self.store.read(key), where=f"{self.store.display}/{key}")

    def _find(self, key: str, kind: type[AnyDocument]) -> AnyDocument | None:
        try:
            return self._read(key, kind)
        except MissingError:
            return None

    def _get(self, key: str, kind: type[AnyDocument], what: str) -> AnyDocument:
        found = self._find(key, kind)
        if found is None:
            raise EvaluationNotFoundError(f"no {what} in the store {self.store.display}")
        return found


def _attempt_key(run_id: str, attempt: int, name: str) -> str:
    return f"runs/{run_id}/attempts/{attempt}/{name}.json"
