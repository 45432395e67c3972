"""What keeps an answer away, on its way from the connection to the reply."""

from __future__ import annotations

from pipeline.records.exchange import ChatReply, FailedReply, StatusError

PASSING = frozenset({408, 409, 429})
"""Statuses after which the same request may be sent again; so may it after any from 500."""


class Trouble(Exception):
    """No answer. Never leaves this package: a provider turns it into a reply.

    Args:
        what: as it is recorded.
        passes: whether the same request may succeed a little later.
    """

    def __init__(self, what: StatusError | FailedReply, *, passes: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.passes = passes

    @property
    def reason(self) -> str:
        """In a few words."""
        what = self.what
        return f"status {what.status}" if isinstance(what, StatusError) else f"{what.error}: {what.reason}"

    @property
    def retry_after_s(self) -> float | None:
        """How long the endpoint asks to wait; None: it did not say."""
        return self.what.retry_after_s if isinstance(self.what, StatusError) else None

    @property
    def reply(self) -> ChatReply:
        """What is told to whoever asked."""
        what = self.what
        return ChatReply(status_error=what) if isinstance(what, StatusError) else ChatReply(failed=what)


def of_status(status: int, body: str, retry_after_s: float | None) -> Trouble:
    """An error that the endpoint answered with."""
    error = StatusError(status=status, body=body, retry_after_s=retry_after_s)
    return Trouble(error, passes=status in PASSING or status >= 500)


def not_an_answer(reason: str) -> Trouble:
    """Something else than such an endpoint sends."""
    return Trouble(FailedReply(error="protocol", reason=reason))
