"""What a session exchanged with its model and its tools (`assay.capture` version 1): enough to answer a replay."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Base64Bytes, Field

from pipeline.records.agent_config import AgentConfig
from pipeline.records.audit_content import Cost
from pipeline.records.audit_names import EndReason
from pipeline.records.base import Document, Record
from pipeline.records.digest import Sha256
from pipeline.records.exchange import (
    Attempt,
    ChatReply,
    ChatRequest,
    Count,
    Sampling,
    TokenFields,
    TokenUsage,
    WeightSpan,
)
from pipeline.records.report import Producer


class ProviderExchange(Record):
    """One request to a model and what came of it."""

    kind: Literal["provider"] = "provider"
    sequence: Count
    """Its place among all exchanges of the capture, from 0."""
    request_sha256: Sha256
    """`request.digest()`."""
    request: ChatRequest
    response: ChatReply
    usage: TokenUsage
    tokens: TokenFields | None
    """null: the engine gave none."""
    sampling: Sampling
    logprobs_mode: Literal["raw", "processed"] | None
    weight_versions: tuple[WeightSpan, ...]
    cost: Cost
    price_table_version: str
    model: str
    request_id: str
    inference_ms: Count
    retried: tuple[Attempt, ...]


class HostUse(Record):
    """Connections to one host."""

    host: str
    granted: Count
    refused: Count


class ToolExchange(Record):
    """One call of a tool and what it gave."""

    kind: Literal["tool"] = "tool"
    sequence: Count
    call_id: str
    tool: str
    arguments_sha256: Sha256
    """Of the UTF-8 bytes of the arguments, as the model wrote them."""
    result: str
    """As the model read it, without secrets."""
    is_error: bool
    truncated: bool
    events: tuple[dict[str, Any], ...] = ()
    """Effects in the log between `tool.call` and `tool.result`, in order: objects of one member, as on the wire."""
    hosts: tuple[HostUse, ...] = ()
    """The hosts that it reached, or was refused."""


Exchange = Annotated[ProviderExchange | ToolExchange, Field(discriminator="kind")]


class Stopped(Record):
    """An end that no exchange shows: a session's clock, a person, or a defect."""

    after: Count
    """Exchanges that there were."""
    reason: Literal[EndReason.CANCELED_BY_USER, EndReason.BUDGET_REACHED, EndReason.ERRORED]
    detail: str


class EndState(Record):
    """Where a session began, and what it left."""

    base_commit: str | None
    """null: a fixture without git."""
    end_tree: str
    """Digest of the tree that the session left."""
    patch_base64: Base64Bytes
    """From the tree at the beginning to that at the end, as `git diff --binary` writes it; empty: nothing changed."""


class Capture(Document):
    """The exchanges of one session; a child session has a capture of its own."""

    schema_name: ClassVar[str] = "assay.capture"

    session: str
    spec_sha256: Sha256 | None
    """null: a session without a spec."""
    producer: Producer
    prompt_sha256: Sha256
    """Of the system prompt and the task."""
    config: AgentConfig
    """What the agent worked under: a replay works under the same."""
    sandbox_sha256: Sha256
    sandbox_driver: str
    exchanges: tuple[Exchange, ...]
    stopped: Stopped | None
    """null: the session ended by itself."""
    workspace: EndState
