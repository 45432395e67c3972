"""Names that audit logs use. Every list is open on the wire: a spelling that is not here is kept as it is, as text."""

from __future__ import annotations

from enum import StrEnum


class EndReason(StrEnum):
    """Why a session ended (`session.end.reason`)."""

    FINISHED = "finished"
    CANCELED_BY_USER = "canceled_by_user"
    ERRORED = "errored"
    BUDGET_REACHED = "budget_reached"
    NO_PROGRESS = "no_progress"
    TURN_LIMIT = "turn_limit"
    HANDED_OVER = "handed_over"
    EMPTY_RESPONSE = "empty_response"
    REFUSED_BY_MODEL = "refused_by_model"
    RATE_LIMITED = "rate_limited"


class Decision(StrEnum):
    """What became of an action that was asked for (`approval.response.decision`)."""

    ALLOWED_BY_POLICY = "allowed_by_policy"
    DENIED_BY_POLICY = "denied_by_policy"
    APPROVED_BY_USER = "approved_by_user"
    APPROVED_BY_USER_FOR_SESSION = "approved_by_user_for_session"
    REFUSED_BY_USER = "refused_by_user"
    EXPIRED = "expired"
    APPROVED_BY_REVIEW = "approved_by_review"
    REFUSED_BY_REVIEW = "refused_by_review"
    REVIEW_UNAVAILABLE = "review_unavailable"


APPROVALS = frozenset(
    {
        Decision.ALLOWED_BY_POLICY,
        Decision.APPROVED_BY_USER,
        Decision.APPROVED_BY_USER_FOR_SESSION,
        Decision.APPROVED_BY_REVIEW,
    }
)
"""The decisions that let an action pass. Any other, one that is not known too, is a refusal."""


class Role(StrEnum):
    """Who speaks (`message.role`)."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Review(StrEnum):
    """What a reviewer said (`review`)."""

    NONE = "none"
    APPROVED = "approved"
    REJECTED = "rejected"


class AgentOutcome(StrEnum):
    """How a child ended (`agent.complete.outcome`)."""

    FINISHED = "finished"
    NO_PROGRESS = "no_progress"
    BUDGET = "budget"
    REFUSED = "refused"
    DIED = "died"
    RATE_LIMITED = "rate_limited"


class TaskStatus(StrEnum):
    """How a command ended (`task.complete.status`)."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIMED_OUT = "timed_out"
    DID_NOT_RUN = "did_not_run"


class StepStatus(StrEnum):
    """How far a step of a plan is (`plan.update.steps[].status`)."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    ABANDONED = "abandoned"


class Ceiling(StrEnum):
    """What a policy allows at most, from narrow to wide (`policy.self.restrictions[].ceiling`)."""

    DENY = "deny"
    AGENT_THEN_HUMAN = "agent_then_human"
    ASK = "ask"
    AGENT_REVIEW = "agent_review"
    ALLOW = "allow"


class Verdict(StrEnum):
    """What the check of a log's hash chain found."""

    INTACT = "intact"
    BROKEN = "broken"
    TORN = "torn"
    UNDECODABLE = "undecodable"
    UNCHAINED = "unchained"
    PARTLY_CHAINED = "partly_chained"
    UNREADABLE = "unreadable"
    BAD_HEADER = "bad_header"
