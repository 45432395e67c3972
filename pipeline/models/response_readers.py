"""Readers of responses: a body in one piece, or a stream of events. What they hold in memory is bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from pipeline.models.chat_stream import Gathered, events
from pipeline.models.json_values import parse
from pipeline.models.trouble import Trouble, not_an_answer
from pipeline.records.exchange import ChatMessage, FailedReply

MAX_BODY_BYTES = (
    32 * 1024 * 1024
)  # text is bounded further on; the rest is ids, log probabilities and what goes with them
MAX_STREAM_BYTES = 512 * 1024 * 1024  # read, not kept: an event a token is some hundred bytes
_JSON = "application/json"


class WholeBody:
    """Reads a JSON object in one piece."""

    async def read(self, response: aiohttp.ClientResponse) -> dict[str, Any]:
        """The object. Raises Trouble where it is none, or too long."""
        data = await response.content.readany()
        if response.content.at_eof():
            return parse(data)
        parts, size = [data], len(data)
        while part := await response.content.readany():
            parts.append(part)
            size += len(part)
            if size > MAX_BODY_BYTES:
                raise _too_large(MAX_BODY_BYTES)
        return parse(b"".join(parts))

    def partial(self) -> ChatMessage | None:
        """Half an object is of no use."""
        return None


class ChatEvents:
    """Reads a streamed chat completion; also one in one piece, which endpoints send that do not stream."""

    def __init__(self) -> None:
        self._gathered = Gathered()

    async def read(self, response: aiohttp.ClientResponse) -> dict[str, Any]:
        """The completion as one object. Raises Trouble where it is none, or ends early."""
        if response.content_type == _JSON:
            return await WholeBody().read(response)
        async for data in events(_bounded(response, MAX_STREAM_BYTES)):
            self._gathered.add(data)
            if self._gathered.is_done:
                break
        if not self._gathered.has_ended:
            reason = "the stream ended before the answer did"
            raise Trouble(FailedReply(error="cut", reason=reason, partial=self.partial()), passes=True)
        return self._gathered.body()

    def partial(self) -> ChatMessage | None:
        """What has come of the message."""
        return self._gathered.partial()


async def _bounded(response: aiohttp.ClientResponse, most: int) -> AsyncIterator[bytes]:
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > most:
            raise _too_large(most)
        yield part


def _too_large(most: int) -> Trouble:
    return not_an_answer(f"the answer has more than {most:,} bytes")
