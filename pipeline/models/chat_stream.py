"""A streamed chat completion: server-sent events, gathered into what the endpoint would have answered in one piece."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pipeline.models.chat_reply import MAX_CALLS, MAX_TEXT_CHARS, parts_of, told_error, too_long
from pipeline.models.json_values import object_of, objects_of, parse, shown, text_of
from pipeline.models.trouble import Trouble, not_an_answer
from pipeline.records.exchange import ChatMessage

MAX_EVENT_BYTES = 16 * 1024 * 1024  # one event holds at most the ids of a prompt
_FIELDS = (b"data", b"event", b"id", b"retry")
_DONE = b"[DONE]"


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event of a stream.

    Raises:
        Trouble: a line is none of an event stream, or an event is too long.
    """
    rest, data = b"", []
    size = 0
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line:
                if (value := _data_of(line)) is not None:
                    data.append(value)
                    size += len(value)
            elif data:
                yield b"\n".join(data)
                data, size = [], 0
        if size + len(rest) > MAX_EVENT_BYTES:
            raise not_an_answer(f"one event of the stream has more than {MAX_EVENT_BYTES:,} bytes")
    if rest.strip() and (value := _data_of(rest)) is not None:
        data.append(value)
    if data:
        yield b"\n".join(data)


def _data_of(line: bytes) -> bytes | None:
    """What a line adds to its event; None: nothing."""
    name, _, value = line.partition(b":")
    if name and name not in _FIELDS:
        raise not_an_answer(f"expected an event stream, found the line {shown(line)}")
    return value.removeprefix(b" ") if name == b"data" else None


class Gathered:
    """The answer, as far as it has come."""

    def __init__(self) -> None:
        self.is_done = False
        """Whether the stream said that it is whole."""
        self._body: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._ids: list[Any] | None = None
        self._logprobs: list[Any] | None = None
        self._n_chars = 0

    def add(self, data: bytes) -> None:
        """One event. Raises Trouble where it is none of a chat completion, or an error."""
        if data.strip() == _DONE:
            self.is_done = True
            return
        chunk = parse(data)
        if chunk.get("error"):
            raise told_error(chunk["error"])
        for name in ("id", "model", "usage", "prompt_token_ids", "metadata"):
            if chunk.get(name) is not None:
                self._body[name] = chunk[name]
        for choice in objects_of(chunk.get("choices"), "choices")[:1]:
            self._add_choice(choice)

    def body(self) -> dict[str, Any]:
        """As one piece."""
        message: dict[str, Any] = {name: "".join(texts) for name, texts in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [self._whole_call(self._calls[place]) for place in sorted(self._calls)]
        choice = {**self._choice, "message": message or {"content": ""}}
        if self._ids is not None:
            choice["token_ids"] = self._ids
        if self._logprobs is not None:
            choice["logprobs"] = {"content": self._logprobs}
        return {**self._body, "choices": [choice]}

    def partial(self) -> ChatMessage | None:
        """The message so far; None: there is nothing of it."""
        try:
            content = parts_of(self.body()["choices"][0]["message"])
        except Trouble:
            return None
        return ChatMessage(role="assistant", content=content) if content else None

    @property
    def has_ended(self) -> bool:
        """Whether the model has stopped, so that nothing of its answer is missing."""
        return self.is_done or self._choice.get("finish_reason") is not None

    def _add_choice(self, choice: dict[str, Any]) -> None:
        if choice.get("finish_reason") is not None:
            self._choice["finish_reason"] = choice["finish_reason"]
        delta = object_of(choice.get("delta"), "delta")
        for name in ("content", "refusal", "reasoning_content", "reasoning"):
            if delta.get(name):
                self._texts.setdefault(name, []).append(self._counted(delta[name], name))
        for call in objects_of(delta.get("tool_calls"), "tool_calls"):
            self._add_call(call)
        if isinstance(choice.get("token_ids"), list):
            self._ids = self._ids if self._ids is not None else []
            self._ids.extend(choice["token_ids"])
        logprobs = object_of(choice.get("logprobs"), "logprobs").get("content")
        if isinstance(logprobs, list):
            self._logprobs = self._logprobs if self._logprobs is not None else []
            self._logprobs.extend(logprobs)

    def _add_call(self, call: dict[str, Any]) -> None:
        place = call.get("index", len(self._calls))
        if type(place) is not int or not 0 <= place < MAX_CALLS:
            raise not_an_answer(f"expected the index of a tool call below {MAX_CALLS}, found {place!r:.100}")
        whole = self._calls.setdefault(place, {"id": None, "name": [], "arguments": []})
        whole["id"] = call.get("id") or whole["id"]
        function = object_of(call.get("function"), "function of a tool call")
        for name in ("name", "arguments"):
            if function.get(name):
                whole[name].append(self._counted(function[name], name))

    def _whole_call(self, call: dict[str, Any]) -> dict[str, Any]:
        return {"id": call["id"], "function": {name: "".join(call[name]) for name in ("name", "arguments")}}

    def _counted(self, value: Any, what: str) -> str:
        text = text_of(value, what)
        self._n_chars += len(text)
        if self._n_chars > MAX_TEXT_CHARS:
            raise too_long(self._n_chars)
        return text
