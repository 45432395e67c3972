"""Every error of the project, one class per decision a caller can take.

AssayError
├── InputError (ValueError)          the user's input is wrong: mend it and run again
│   ├── NoRowsError                  there is nothing to score
│   └── ZonError                     a text is not ZON (`line` and `column` tell where)
├── DatasetError                     this dataset, revision or result cannot be had (`status_code`)
├── EvaluationError                  this evaluation or run cannot be had (`status_code`)
│   ├── EvaluationNotFoundError      no such evaluation, run or suite (404)
│   └── EvaluationRunFailedError     the run ended FAILED or CANCELED (`run` is its handle)
├── FunctionError                    this function cannot be used
│   ├── FunctionSignatureError (TypeError)  its parameters, annotations or columns do not fit
│   ├── FunctionBuildError           its payload cannot be made or loaded here
│   └── UntrustedFunctionError       its payload comes from a store that is not trusted
├── StoreError                       the store did not do what was asked (`key` is the object)
│   ├── MissingError                 no object of that name
│   ├── ExistsError                  another object of that name stands
│   ├── RetryError                   a passing fault: the same call may be made again
│   ├── DeniedError                  credentials, bucket or permission: retrying is useless
│   ├── UnavailableError             retries or the deadline are used up
│   ├── CorruptError                 the bytes are not the ones that were written
│   └── UnsafeStoreError             the store overwrites where it promised not to
├── PlanMismatchError                another plan stands at this place (`field` differs)
├── EngineError                      the work cannot be carried out here (cluster, workers, resources)
├── SandboxError                     a command cannot be run in isolation here: install or allow what is missing
├── WorkspaceError                   a fixture or a tree of files cannot be used as it is
│   └── UnsafeFileError              a path of it leads elsewhere, or is no regular file
├── ReplayError                      a capture does not answer the session that is replayed (`refusal` tells how)
├── FailingRunError                  so much fails that going on would only cost: mend the task or the scorer
└── InterruptedRunError              stopped by the user; the same command goes on
"""

from __future__ import annotations

from typing import Any


class AssayError(Exception):
    """The base of all errors that the project raises on purpose. The text is meant for the user."""


class InputError(AssayError, ValueError):
    """Input of the user's (a file, a config, an option) that cannot be used as it is."""


class NoRowsError(InputError):
    """A dataset without rows: nothing can be scored."""


class ZonError(InputError):
    """A text that is not ZON, or that holds a field twice, or is too large or deep."""

    def __init__(self, message: str = "", line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line, self.column = line, column
        """Where it went wrong, both from 1; a column counts characters."""


class _StatusError(AssayError):
    def __init__(self, message: str = "", status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        """The HTTP equivalent of what went wrong; None where there is none."""


class DatasetError(_StatusError):
    """A dataset or revision that cannot be made, found or read."""


class EvaluationError(_StatusError):
    """An evaluation, run or suite that cannot be made or used."""


class EvaluationNotFoundError(EvaluationError):
    """No evaluation, run or suite of that id."""

    def __init__(self, message: str = "", status_code: int | None = 404) -> None:
        super().__init__(message, status_code)


class EvaluationRunFailedError(EvaluationError):
    """A run that ended FAILED or CANCELED."""

    def __init__(self, message: str = "", run: Any = None) -> None:
        super().__init__(message, None)
        self.run = run
        """The terminal handle (`pipeline.EvaluationRun`)."""


class FunctionError(AssayError):
    """A function that cannot be used."""


class FunctionSignatureError(FunctionError, TypeError):
    """Parameters, annotations or columns that do not fit."""


class FunctionBuildError(FunctionError):
    """A payload that cannot be made or loaded here."""


class UntrustedFunctionError(FunctionError):
    """A payload from a store that the caller does not trust."""


class StoreError(AssayError):
    """A store that did not do what was asked."""

    def __init__(self, message: str = "", key: str | None = None) -> None:
        super().__init__(message)
        self.key = key
        """The object that was asked for, relative to the store's root."""


class MissingError(StoreError):
    """No object of that name."""


class ExistsError(StoreError):
    """Another object of that name stands."""


class RetryError(StoreError):
    """A passing fault: the same call, with the same bytes, may be made again."""


class DeniedError(StoreError):
    """Credentials, bucket or permission: trying again is useless."""


class UnavailableError(StoreError):
    """The store did not answer within the deadline, or not with success within the retries."""


class CorruptError(StoreError):
    """Bytes that are not the ones that were written: a digest or checksum differs."""


class UnsafeStoreError(StoreError):
    """A store that overwrites an object it was asked to create only if absent."""


class PlanMismatchError(AssayError):
    """Another plan stands at this place."""

    def __init__(self, message: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        """The first member in which the two plans differ."""


class EngineError(AssayError):
    """Work that cannot be carried out here: no cluster, no worker, not enough resources."""


class SandboxError(AssayError):
    """A command that cannot be run in isolation here; it was not run."""


class WorkspaceError(AssayError):
    """A fixture, its base commit or a tree of files that cannot be used as it is."""


class UnsafeFileError(WorkspaceError):
    """A path that leads through a link or is no regular file; it was not opened."""


class ReplayError(AssayError):
    """A capture that does not answer the session that is replayed; nothing is judged."""

    def __init__(self, message: str, refusal: str = "") -> None:
        super().__init__(message)
        self.refusal = refusal
        """One of `ReplayRefusal`."""


class FailingRunError(AssayError):
    """The first rows all failed alike, or more failed than `max_failures` allows; the run was stopped."""


class InterruptedRunError(AssayError):
    """Stopped by the user; parts that are done are kept, the same command goes on."""

    def __init__(self, message: str = "", receipts: Any = None) -> None:
        super().__init__(message)
        self.receipts = receipts
        """Part number → receipt of what was done (`dict[int, Receipt]`); None where nothing was begun."""
