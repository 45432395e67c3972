"""How a session ends: the reason that its log names, and what the agent said at last."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.records.audit_names import EndReason
from pipeline.records.exchange import ChatReply, Completion, FailedReply

TOO_MANY_REQUESTS = 429
MAX_BODY_CHARACTERS = 500  # of what a provider says of its error


class Ending(NamedTuple):
    """How a session ended."""

    reason: EndReason
    detail: str = ""
    result: str = ""
    """What the model said at last."""
    is_from_outside: bool = False
    """Whether its clock or a person ended it: something that no exchange shows."""


def without_answer(reply: ChatReply) -> Ending:
    """What a session ends with to whose request no message came."""
    error, failure = reply.status_error, reply.failed
    if error is not None:
        reason = EndReason.RATE_LIMITED if error.status == TOO_MANY_REQUESTS else EndReason.ERRORED
        return Ending(reason, f"the provider answered {error.status}: {error.body[:MAX_BODY_CHARACTERS]}")
    return Ending(EndReason.ERRORED, f"{failure.error}: {failure.reason}" if failure else "no answer")


def given_up(after_s: float) -> Completion:
    """What stands for the answer to a request that was sent and not waited for. Its price is not known.

    Args:
        after_s: how long it was waited.
    """
    failure = FailedReply(error="canceled", reason="the session ended before an answer came")
    return Completion(reply=ChatReply(failed=failure), inference_ms=max(0, round(after_s * 1000)))
