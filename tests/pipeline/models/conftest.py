"""A real HTTP server that does what a test tells it, and providers that ask it."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from pipeline.models.open_provider import open_provider
from pipeline.models.provider import Provider
from pipeline.models.timing import Timing
from pipeline.records.audit_content import TextPart
from pipeline.records.exchange import ChatMessage, ChatRequest, Completion
from pipeline.records.provider_profile import ProviderProfile

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Waits:
    """Waits that are written down and not made; the die always falls on its lowest side."""

    def __init__(self) -> None:
        self.made: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.made.append(seconds)
        await asyncio.sleep(0)

    @property
    def timing(self) -> Timing:
        return Timing(sleep=self.sleep, random=lambda: 0.0)


class Seen(NamedTuple):
    """A request, as the server got it."""

    path: str
    headers: dict[str, str]
    body: Any


class Server:
    """Answers with the handlers it is given, one a request; the last one for ever.

    It has a thread and an event loop of its own: what is left in the other loop is the client's.
    """

    def __init__(self, *handlers: Handler) -> None:
        self._handlers = list(handlers)
        self.seen: list[Seen] = []
        self.url = ""
        self._is_up = threading.Event()

    async def __aenter__(self) -> Server:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        assert self._is_up.wait(10)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        await asyncio.to_thread(self._thread.join)

    async def _run(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**28)
        app.router.add_route("*", "/{path:.*}", self._serve)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._is_up.set()
        await self._end.wait()
        await runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        self.seen.append(Seen(request.path, dict(request.headers), json.loads(data) if data else None))
        handler = self._handlers.pop(0) if len(self._handlers) > 1 else self._handlers[0]
        return await handler(request)


def answers(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Handler:
    """JSON; text as it stands."""

    async def handler(_: web.Request) -> web.Response:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(text=text, status=status, headers=headers, content_type="application/json")

    return handler


def streams(*events: Any, is_cut: bool = False, is_open: bool = False) -> Handler:
    """Server-sent events; text as it stands. Cut: the connection is lost; open: nothing follows, for ever."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            text = event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n"
            await response.write(text.encode())
        if is_open:
            await asyncio.sleep(3600)
        if is_cut:
            assert request.transport is not None
            request.transport.close()
        return response

    return handler


def chat(content: Any = "Done.", **members: Any) -> dict[str, Any]:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    return {"id": "c1", "object": "chat.completion", "model": "m-1", "choices": [choice], "usage": usage, **members}


def delta(finish: str | None = None, **members: Any) -> dict[str, Any]:
    """A chunk of a streamed one."""
    choice = {"index": 0, "delta": members, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


def said(text: str = "Mend it.", **members: Any) -> ChatRequest:
    """A request of one message."""
    message = ChatMessage(role="user", content=(TextPart(text=text),))
    return ChatRequest(**{"model": "m", "system": "", "messages": (message,), **members})


def profile_of(url: str, kind: str = "openai", **members: Any) -> ProviderProfile:
    return ProviderProfile.model_validate({"name": "p", "kind": kind, "base_url": url, "model": "m", **members})


async def ask(
    url: str,
    request: ChatRequest | None = None,
    *,
    waits: Waits | None = None,
    environment: dict[str, str] | None = None,
    **profile: Any,
) -> Completion:
    """One question to the server at an address."""
    timing = (waits or Waits()).timing
    provider = open_provider(profile_of(url, **profile), None, environment or {}, timing=timing)
    try:
        return await provider.complete(request or said())
    finally:
        await provider.close()


def exchange(*handlers: Handler, request: ChatRequest | None = None, **options: Any) -> tuple[Completion, Server]:
    """One question to a server that does this, in an event loop of its own. Nothing may be left open."""

    async def run() -> tuple[Completion, Server]:
        async with Server(*handlers) as server:
            completion = await ask(server.url, request, **options)
        return completion, server

    return run_clean(run())


def run_clean(work: Any) -> Any:
    """Run to the end; then no task is left, and no connection that the garbage collector would warn of."""

    async def watched() -> Any:
        found = await work
        await asyncio.sleep(0.01)  # connections close in the next turns of the loop
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left
        return found

    found = asyncio.run(watched())
    gc.collect()
    return found


@pytest.fixture
def waits() -> Waits:
    return Waits()


class Kit(NamedTuple):
    """What tests of this folder use; there is no package here from which to import it."""

    server: type[Server] = Server
    answers: Callable[..., Handler] = answers
    streams: Callable[..., Handler] = streams
    chat: Callable[..., dict[str, Any]] = chat
    delta: Callable[..., dict[str, Any]] = delta
    said: Callable[..., ChatRequest] = said
    profile_of: Callable[..., ProviderProfile] = profile_of
    ask: Callable[..., Awaitable[Completion]] = ask
    exchange: Callable[..., tuple[Completion, Server]] = exchange
    run_clean: Callable[[Any], Any] = run_clean
    open: Callable[..., Provider] = open_provider


@pytest.fixture
def kit() -> Kit:
    return Kit()
