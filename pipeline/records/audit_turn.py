"""What events say of the turns of an agent: messages, calls, approvals, cost."""

from __future__ import annotations

from typing import Annotated

from pipeline.records.audit_content import ContentPart, Cost, UnknownCost
from pipeline.records.audit_names import Review
from pipeline.records.audit_session import Lax, Spawner
from pipeline.records.audit_wire import AsFound, Flag, Label, Payload, Text, Whole, WireRecord


class Message(Payload):
    """One message of the conversation."""

    wire_name = "message"

    role: Text
    content: Annotated[tuple[ContentPart, ...], Lax]
    model_alias: Text = ""


class ToolCall(Payload):
    """A tool is called."""

    wire_name = "tool.call"

    call_id: Text
    tool: Text
    arguments: Text
    """JSON text."""


class StoredImage(WireRecord):
    """An image that a tool gave, by its digest."""

    media_type: Text
    byte_count: Whole
    content_hash: Text


class ToolResult(Payload):
    """What a tool gave."""

    wire_name = "tool.result"

    call_id: Text
    output: Text
    """Without secrets."""
    is_error: Flag
    truncated: Flag
    note: Text = ""
    """For a person, never for the model."""
    image: StoredImage | None = None


class ApprovalRequest(Payload):
    """An action is put to somebody."""

    wire_name = "approval.request"

    action: Text
    summary: Text
    detail: Text
    reason: Text
    agent_kind: Text
    spawn_chain: Annotated[tuple[Spawner, ...], Lax]
    timeout_at_ms: Whole
    tool_call_id: Text
    review: Text = Review.NONE.value
    review_note: Text = ""
    source: Text = ""


class ApprovalResponse(Payload):
    """What was decided on an action."""

    wire_name = "approval.response"

    request_id: Whole
    """The id of the request; 0: the policy decided by itself."""
    decision: Text
    responder: Text
    """Empty: nobody acted."""
    action: Text = ""
    tool_call_id: Text = ""
    review: Text = Review.NONE.value
    review_note: Text = ""


class PasswordPrompt(Payload):
    """A person was asked for a password; the answer is never written down."""

    wire_name = "prompt.password"

    correlation_id: Label
    prompt: Text


class Diff(Payload):
    """A change of a file."""

    wire_name = "diff"

    path: Text
    patch: Text
    change_set_id: Label
    review: Text
    review_note: Text


class KeptRange(WireRecord):
    """Events that stay as they are, by their ids."""

    from_id: Whole
    through_id: Whole


class Compaction(Payload):
    """Earlier turns were put in short for the model; the log keeps them."""

    wire_name = "compaction"

    summary: Text
    from_id: Whole
    through_id: Whole
    kept_ranges: Annotated[tuple[KeptRange, ...], Lax]
    model_alias: Text
    stand_in_reason: Text = ""


class Usage(Payload):
    """What one request to a provider took; retries and compaction have their own."""

    wire_name = "usage"

    input_tokens: Whole = 0
    output_tokens: Whole = 0
    cache_creation_input_tokens: Whole = 0
    cache_read_input_tokens: Whole = 0
    cost: Cost = UnknownCost(unknown=True)
    price_table_version: Text = ""
    model: Text = ""
    model_alias: Text = ""
    request_id: Text = ""
    inference_ms: Whole = 0
    reasoning_effort_applied: Text = ""


class TaskComplete(Payload):
    """A command that ran beside the turns ended."""

    wire_name = "task.complete"

    task_id: Label
    command: Text
    status: Text
    code: Whole | None
    output_path: Text
    output_bytes: Whole
    truncated: Flag


class PlanStep(WireRecord):
    """A step of a plan."""

    id: Label
    subject: Text
    status: Text
    blocked_by: AsFound = ""


class PlanUpdate(Payload):
    """Steps that are new or changed; merged by their ids."""

    wire_name = "plan.update"

    steps: Annotated[tuple[PlanStep, ...], Lax]


class Restriction(WireRecord):
    """What an agent forbids itself."""

    action: Text
    ceiling: Text
    """One that is not known is read as `deny`."""
    reason: Text = ""


class PolicySelf(Payload):
    """An agent restricts itself."""

    wire_name = "policy.self"

    restrictions: Annotated[tuple[Restriction, ...], Lax]
    authorised: Flag = False
