"""What a failed call leaves behind: one text, whatever the exception is, and an owner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pipeline.formats.redaction import redact
from pipeline.formats.retry_after import retry_after_seconds
from pipeline.records.owners import Owner

ERROR_CHARS = 4000  # characters of an error text: enough for any message, too few for a pasted document
TOO_MANY_REQUESTS = 429


class RowOutcome(NamedTuple):
    """What one row's call came to: a value, or an error with its owner."""

    value: Any
    error: str | None = None
    owner: str | None = None


class CallTimeoutError(Exception):
    """A call that took longer than `timeout_s`."""


def describe_error(error: BaseException, *, secrets: Iterable[str] = (), named: bool = True) -> str:
    """`ValueError: message`, without secrets, at most `ERROR_CHARS` long. Never raises."""
    try:
        message = str(error)
    except BaseException as broken:  # noqa: BLE001  # `__str__` is the user's code
        message = f"(its text cannot be read: {type(broken).__name__})"
    name = type(error).__name__
    text = redact(f"{name}: {message}" if named and message else message or name, secrets)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= ERROR_CHARS else text[: ERROR_CHARS - 1] + "…"


def owner_of(error: BaseException) -> Owner:
    """`network` for time-outs, lost connections and rate limits (by class or status 429), `harness` for memory that
    is used up, else `model`.
    """
    if isinstance(error, MemoryError):
        return Owner.HARNESS
    if isinstance(error, CallTimeoutError | TimeoutError | ConnectionError):
        return Owner.NETWORK
    names = [cls.__name__ for cls in type(error).__mro__]
    if any(name.endswith(("Timeout", "TimeoutError")) for name in names):
        return Owner.NETWORK
    return Owner.NETWORK if is_refusal(error) else Owner.MODEL


def is_refusal(error: BaseException) -> bool:
    """Whether the endpoint refused the call because there were too many: a class named for it, or status 429."""
    names = [cls.__name__ for cls in type(error).__mro__]
    return any("RateLimit" in name for name in names) or _status(error) == TOO_MANY_REQUESTS


def retry_after_s(error: BaseException, now: float) -> float | None:
    """Seconds that the endpoint asked to wait: `Retry-After` of the answer, or an attribute. None: it did not say.

    Args:
        error: what the call raised.
        now: seconds since 1970, which a date is counted from.
    """
    try:
        for holder in (error, getattr(error, "response", None)):
            for found in (getattr(holder, "retry_after", None), _header(getattr(holder, "headers", None))):
                if found is not None:
                    return retry_after_seconds(found, now)
    except Exception:  # noqa: BLE001  # whatever stands there, it is not a time
        return None
    return None


def _header(headers: Any) -> Any:
    if headers is None:
        return None
    return next((value for name, value in headers.items() if str(name).lower() == "retry-after"), None)


def _status(error: BaseException) -> Any:
    try:
        for holder in (error, getattr(error, "response", None)):
            for member in ("status_code", "status", "code"):
                status = getattr(holder, member, None)
                if isinstance(status, int):
                    return status
    except Exception:  # noqa: BLE001  # an attribute that raises says nothing
        return None
    return None


class Failed(NamedTuple):
    """Stands in a list of results where a call failed."""

    error: str
    owner: Owner
