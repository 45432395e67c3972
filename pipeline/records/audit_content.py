"""Parts of a message, and what a turn cost. Each is an object of one member; one that is not known is kept raw."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Strict, Tag

from pipeline.records.audit_wire import Flag, Number, OneMember, Text, WireRecord, member_of


class Reasoning(WireRecord):
    """What a model thought, signed by its provider."""

    text: Text
    signature: Text


class ToolUse(WireRecord):
    """A call that a model asks for."""

    call_id: Text
    tool: Text
    arguments: Text
    """JSON text."""


class ToolAnswer(WireRecord):
    """What a call gave, as the model reads it."""

    call_id: Text
    output: Text
    is_error: Flag


class Image(WireRecord):
    """An image, as the model sees it."""

    call_id: Text
    media_type: Text
    data: Text
    """Base64."""


class TextPart(OneMember):
    """Text."""

    text: Text


class ReasoningPart(OneMember):
    """Thoughts."""

    reasoning: Reasoning


class ToolUsePart(OneMember):
    """A call."""

    tool_use: ToolUse


class ToolResultPart(OneMember):
    """The answer to a call."""

    tool_result: ToolAnswer


class ImagePart(OneMember):
    """An image."""

    image: Image


def _of_one_member(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) != 1:
        raise ValueError("expected an object of exactly one member")
    return value


Raw = Annotated[dict[Annotated[str, Strict()], Any], Strict(), AfterValidator(_of_one_member), Tag("")]

_PARTS = ("text", "reasoning", "tool_use", "tool_result", "image")
_COSTS = ("known", "free", "unknown")


def _part_of(value: Any) -> str:
    return name if (name := member_of(value)) in _PARTS else ""


def _cost_of(value: Any) -> str:
    return name if (name := member_of(value)) in _COSTS else ""


ContentPart = Annotated[
    Annotated[TextPart, Tag("text")]
    | Annotated[ReasoningPart, Tag("reasoning")]
    | Annotated[ToolUsePart, Tag("tool_use")]
    | Annotated[ToolResultPart, Tag("tool_result")]
    | Annotated[ImagePart, Tag("image")]
    | Raw,
    Discriminator(_part_of),
]


class Money(WireRecord):
    """An amount and an ISO 4217 code."""

    value: Number
    currency: Text


class KnownCost(OneMember):
    """What a turn cost."""

    known: Money


class FreeCost(OneMember):
    """A turn that costs nothing, such as one of a local model."""

    free: Flag


class UnknownCost(OneMember):
    """A turn whose price is not known. That is never zero."""

    unknown: Flag


Cost = Annotated[
    Annotated[KnownCost, Tag("known")]
    | Annotated[FreeCost, Tag("free")]
    | Annotated[UnknownCost, Tag("unknown")]
    | Raw,
    Discriminator(_cost_of),
]
