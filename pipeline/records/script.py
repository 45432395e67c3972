"""A script: what a scripted provider answers, turn by turn, faults included."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, ValidationError, model_validator

from pipeline.errors import InputError
from pipeline.records.exchange import Stop, TokenFields, TokenUsage, WeightSpan
from pipeline.records.spec_fields import Argument, Name, SpecRecord, Text
from pipeline.records.spec_file import READERS, check_ending
from pipeline.records.told import at_field, shown, told

FaultKind = Literal["status", "connect", "timeout", "cut", "garbage"]


class ScriptedCall(SpecRecord):
    """A tool call."""

    tool: Name
    arguments: Any
    """Fields with values, written as JSON; or text, which is given as it is, whether it is JSON or not."""
    call_id: Text | None = None
    """null: call-1, call-2 …, over the whole script."""

    @property
    def arguments_text(self) -> str:
        """As a model would write them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


class Fault(SpecRecord):
    """What goes wrong in place of an answer."""

    kind: FaultKind
    """`cut`: the stream ends after `text` of the turn; `garbage`: what came is no answer."""
    status: Annotated[int, Field(strict=True, ge=400, le=599)] | None = None
    body: Argument = ""
    retry_after_s: Annotated[float, Field(strict=True, ge=0)] | None = None

    @model_validator(mode="after")
    def _status_goes_with_its_kind(self) -> Fault:
        if (self.kind == "status") != (self.status is not None):
            raise at_field("status", "expected a status for kind status, and for no other")
        return self


def _as_fault(value: object) -> object:
    if isinstance(value, str):
        return {"kind": value}
    return {"kind": "status", **value} if isinstance(value, dict) else value


def _as_stop(value: object) -> object:
    return {"reason": value} if isinstance(value, str) else value


def _as_tokens(value: object) -> object:
    """Everything is taken for sampled, where the script does not say otherwise."""
    if isinstance(value, dict) and isinstance(ids := value.get("response_token_ids"), list):
        return {"response_mask": [1] * len(ids), **value}
    return value


class ScriptedTurn(SpecRecord):
    """One answer. Without any field: an empty one."""

    text: Argument = ""
    reasoning: Argument = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    usage: TokenUsage = TokenUsage()
    tokens: Annotated[TokenFields, BeforeValidator(_as_tokens)] | None = None
    logprobs_mode: Literal["raw", "processed"] | None = None
    weight_versions: tuple[WeightSpan, ...] = ()
    stop: Annotated[Stop, BeforeValidator(_as_stop)] | None = None
    """A reason, or reason, category and explanation; null: `tool_calls` where there are calls, else `stop`."""
    fault: Annotated[Fault, BeforeValidator(_as_fault)] | None = None
    """A kind, or the fields of a `Fault`; `{status: 429}` is of kind status."""
    delay_s: Annotated[float, Field(strict=True, ge=0, le=3600)] = 0.0
    """Before it comes."""


class Script(SpecRecord):
    """The turns of one provider, in the order in which it is asked."""

    turns: tuple[ScriptedTurn, ...]


def parse_script(data: bytes, where: str) -> Script:
    """A script: a list of turns in YAML, JSON or ZON, by the ending of the file's name.

    Raises:
        InputError: names file, line, field, what was found and what is allowed, and the nearest known field.
    """
    document = check_ending(where)(data, where)
    turns: JsonValue = document.value
    if not isinstance(turns, list) or not turns:
        found = "is empty" if turns in (None, []) else f"holds {shown(turns)}"
        raise InputError(f"{where}:1: {found}; a script is a list of turns, such as - {{text: Done.}}")
    for place, turn in enumerate(turns):
        try:
            ScriptedTurn.model_validate(turn)
        except ValidationError as error:
            raise told(error, ScriptedTurn, document, where, above=(place,)) from None
    return Script(turns=tuple(ScriptedTurn.model_validate(turn) for turn in turns))


ENDINGS = tuple(READERS)
