"""One exchange with a model, in no provider's own form: what was asked, what came back, its tokens and its price."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from pipeline.formats.canonical_json import canonical_json
from pipeline.records.audit_content import ContentPart, Cost, UnknownCost
from pipeline.records.base import Record
from pipeline.records.digest import digest_bytes

MAX_COUNT = 2**53 - 1  # as every reader of JSON has it exactly
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class ToolSpec(Record):
    """A tool that a model may call."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """JSON Schema of its arguments, an object."""


class ChatMessage(Record):
    """One message of a conversation. A tool's answer is a message of role `tool` with one `tool_result` part."""

    role: Literal["user", "assistant", "tool"]
    content: tuple[ContentPart, ...]


class ChatRequest(Record):
    """What a model is asked, after secrets were taken out."""

    model: str
    system: str
    """Empty: none."""
    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...] = ()

    def digest(self) -> str:
        """Of the canonical JSON: by this a replay recognises a request."""
        return digest_bytes(canonical_json(self.model_dump(mode="json")))


class Stop(Record):
    """Why a model stopped."""

    reason: str
    """`stop`, `tool_calls`, `length`, `refusal`, or as the provider spells it."""
    category: str = ""
    explanation: str = ""


class StatusError(Record):
    """A provider that answered with an error, after the last try."""

    status: int
    body: str
    """Without secrets, cut to 4,096 characters."""
    retry_after_s: float | None = None


class FailedReply(Record):
    """No answer, or one that cannot be read."""

    error: Literal["connect", "timeout", "protocol", "cut", "canceled", "config"]
    """`protocol`: not what such an endpoint sends; `cut`: the stream ended early; `config`: no request was possible."""
    reason: str
    partial: ChatMessage | None = None


class ChatReply(Record):
    """What came back: exactly one of a message, an error of the provider's, a failure."""

    message: ChatMessage | None = None
    status_error: StatusError | None = None
    failed: FailedReply | None = None
    stop: Stop | None = None
    """null unless there is a message."""

    @model_validator(mode="after")
    def _is_one(self) -> ChatReply:
        if sum(each is not None for each in (self.message, self.status_error, self.failed)) != 1:
            raise ValueError("expected exactly one of message, status_error and failed")
        if (self.stop is None) != (self.message is None):
            raise ValueError("stop and message go together")
        return self


class TokenUsage(Record):
    """Tokens as the provider counts them; null: it did not say."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None


class TokenFields(Record):
    """Token ids and log probabilities of one turn, as the engine gave them. Never made from text.

    The last three have one entry a response token, if the engine and the adapter are right: that is checked, not
    enforced, so that a faulty turn can be kept and shown.
    """

    prompt_token_ids: tuple[int, ...]
    response_token_ids: tuple[int, ...]
    response_mask: tuple[int, ...]
    """1: sampled by the model; 0: put in by somebody else."""
    old_logprobs: tuple[float | None, ...]
    """Natural logarithms under the policy that sampled; null where the mask is 0, or where the engine gave none."""


class Sampling(Record):
    """How tokens were drawn; null: the engine's default, which is not known here."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


class WeightSpan(Record):
    """Response tokens [start, end) were sampled by this version of the weights."""

    version: str
    start: Count
    end: Count


class Attempt(Record):
    """One request that was sent and had to be sent again."""

    reason: str
    status: int | None = None
    """Of the answer; null: none came."""
    inference_ms: Count


class Completion(Record):
    """One exchange with a model, from the first try to what came of the last."""

    reply: ChatReply
    usage: TokenUsage = TokenUsage()
    cost: Cost = UnknownCost(unknown=True)
    price_table_version: str = ""
    tokens: TokenFields | None = None
    """null: the engine gives none."""
    sampling: Sampling = Sampling()
    logprobs_mode: Literal["raw", "processed"] | None = None
    """Before or after temperature and the samplers; null: without log probabilities, or not known."""
    weight_versions: tuple[WeightSpan, ...] = ()
    model: str = ""
    """As the provider names what answered."""
    request_id: str = ""
    inference_ms: Count = 0
    retried: tuple[Attempt, ...] = ()
    """The tries before the last."""
