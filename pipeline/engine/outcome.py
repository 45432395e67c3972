"""What a worker sends back: a receipt or a failure, always a value. An exception would lose its type on the way."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from typing import NamedTuple

from pipeline import errors
from pipeline.engine.assignment import Assignment
from pipeline.engine.work import PartWorker
from pipeline.errors import AssayError, EngineError, RetryError, UnavailableError
from pipeline.records.plan import Receipt

Plain = str | int | float | bool | None


class LostServiceError(EngineError):
    """A member of a pool with resources of its own was lost while it served a part."""


class Failure(NamedTuple):
    """An exception as plain values."""

    type_name: str
    message: str
    traceback: str
    is_retryable: bool
    """A passing fault: the same part may succeed later, or on another node."""
    is_loss: bool = False
    """It may lie in a row of the part: if it comes again, its rows are tried by themselves."""
    attributes: Mapping[str, Plain] = {}
    """The plain attributes of the project's own errors, such as `key` and `status_code`."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Take down an exception, whatever it is; nothing of it needs to be picklable."""
        own = vars(error) if isinstance(error, AssayError) else {}
        return cls(
            type_name=type(error).__name__,
            message=_text_of(error),
            traceback="".join(traceback.format_exception(error)),
            is_retryable=isinstance(error, RetryError | UnavailableError | MemoryError | LostServiceError),
            is_loss=isinstance(error, MemoryError | LostServiceError),
            attributes={name: value for name, value in own.items() if isinstance(value, Plain)},
        )

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}" if self.message else self.type_name

    def to_error(self, what: str) -> AssayError:
        """The error to raise in the driver: of the same class if it is the project's, else EngineError about `what`."""
        error_class = getattr(errors, self.type_name, None)
        if isinstance(error_class, type) and issubclass(error_class, AssayError):
            error: AssayError = error_class(self.message)
            vars(error).update(self.attributes)
        else:
            error = EngineError(f"{what} failed: {self}")
        error.add_note(f"In the worker:\n{self.traceback}")
        return error


class Outcome(NamedTuple):
    """The end of one call; neither of `receipt` and `failure` is there where rows were kept."""

    seconds: float
    receipt: Receipt | None = None
    failure: Failure | None = None


def attempt(worker: PartWorker, assignment: Assignment) -> Outcome:
    """Carry out one assignment; whatever it raises comes back as a value."""
    part, first_row, rows, is_whole, number, lost = assignment
    started = time.perf_counter()
    receipt = None
    try:
        if is_whole:
            receipt = worker.run_part(part, number)
        else:
            worker.keep_rows(part, first_row, rows, lost)
    except BaseException as error:  # noqa: BLE001 - the border: a panic of polars is no Exception, and travels as a value
        return Outcome(time.perf_counter() - started, failure=Failure.of(error))
    return Outcome(time.perf_counter() - started, receipt=receipt)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - a broken __str__ of the user's must not hide the failure
        return ""
