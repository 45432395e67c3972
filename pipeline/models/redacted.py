"""Takes secrets out of what is sent to a model and of what comes back, before anybody records it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipeline.formats.redaction import MASK, spellings
from pipeline.records.audit_content import ContentPart, ReasoningPart, TextPart, ToolUsePart
from pipeline.records.exchange import ChatRequest, Completion

MIN_CHARS = 8  # a shorter value, such as the key EMPTY, stands in text that has nothing to do with it

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:(?:API|ACCESS|PRIVATE|SECRET|AUTH|ACCOUNT|SIGNING|ENCRYPTION)?_?KEY|[A-Z]*TOKEN|SECRET"
    r"|[A-Z]*PASSWORD|[A-Z]*PASSWD|[A-Z]*PASSPHRASE|CREDENTIALS?|PAT)(?:_?[0-9]+)?\Z"
)


def secret_values(environment: Mapping[str, str], named: Iterable[str] = ()) -> list[str]:
    """Values of variables that look like secrets by their names, and of those that are `named`."""
    wanted = set(named)
    return [
        value
        for name, value in environment.items()
        if len(value) >= MIN_CHARS and (name in wanted or _SECRET_NAME.search(name.upper()))
    ]


class Redactor:
    """Masks secret values in requests and answers.

    Args:
        values: the secrets. They are kept in memory alone, and never shown.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._spellings = spellings(values)
        self._in_json = [
            json.dumps(text, ensure_ascii=False)[1:-1].encode(errors="replace") for text in self._spellings
        ]
        """How they stand in what is written as JSON: looking there is much faster than at each text."""

    def __repr__(self) -> str:
        return f"Redactor({len(self._spellings)} spellings)"

    def text(self, text: str) -> str:
        """The text without secrets."""
        for value in self._spellings:
            text = text.replace(value, MASK)
        return text

    def request(self, request: ChatRequest) -> ChatRequest:
        """The request without secrets; the same object where there are none."""
        if not self.is_in(request):
            return request
        return ChatRequest.model_validate(self._value(request.model_dump()))

    def completion(self, completion: Completion) -> Completion:
        """The answer without secrets; the same object where there are none.

        Token ids spell what they stand for: where a secret is in the answer, they go with it.
        """
        if not self._spellings or not self._is_in_text("\0".join(_texts(completion))):
            return completion
        return Completion.model_validate({**self._value(completion.model_dump()), "tokens": None})

    def is_in(self, request: ChatRequest) -> bool:
        """Whether a secret stands in a request."""
        if not self._spellings:
            return False
        try:
            return self.is_in_json(request.model_dump_json().encode())
        except ValueError:  # text that is no UTF-8, in which a search would miss what is there
            return True

    def is_in_json(self, data: bytes) -> bool:
        """Whether a secret stands in JSON of UTF-8 that escapes no more than it must."""
        return any(value in data for value in self._in_json)

    def _is_in_text(self, text: str) -> bool:
        return any(value in text for value in self._spellings)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self._value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(inner) for inner in value]
        return value


def _texts(completion: Completion) -> Iterator[str]:
    """All that a provider said."""
    yield completion.model
    yield completion.request_id
    for attempt in completion.retried:
        yield attempt.reason
    reply = completion.reply
    if reply.stop is not None:
        yield from (reply.stop.reason, reply.stop.category, reply.stop.explanation)
    if reply.status_error is not None:
        yield reply.status_error.body
    if reply.failed is not None:
        yield reply.failed.reason
    message = reply.message or (reply.failed.partial if reply.failed else None)
    for part in message.content if message else ():
        yield from _texts_of(part)


def _texts_of(part: ContentPart) -> tuple[str, ...]:
    if isinstance(part, TextPart):
        return (part.text,)
    if isinstance(part, ToolUsePart):
        return (part.tool_use.call_id, part.tool_use.tool, part.tool_use.arguments)
    if isinstance(part, ReasoningPart):
        return (part.reasoning.text, part.reasoning.signature)
    return (json.dumps(part if isinstance(part, dict) else part.model_dump(mode="json"), ensure_ascii=False),)
