"""Requests to a model through assay's client and through a bare aiohttp loop, at a server in another process.

python benchmarks/model_client.py [--short]      one JSON object
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import aiohttp
from aiohttp import web
from report import Row, tell

from pipeline.models.open_provider import open_provider
from pipeline.records.audit_content import TextPart
from pipeline.records.exchange import ChatMessage, ChatRequest, ToolSpec
from pipeline.records.provider_profile import ProviderProfile

REQUESTS, SHORT_REQUESTS = 3_000, 100  # in a turn, of each side
TURNS, SHORT_TURNS = 7, 1
CONCURRENCY = 8
WARM_UP = 50  # requests that open the connections
MAX_RATIO = 1.5

TOOL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
CALL = {"name": "exec", "arguments": '{"command": "python -m pytest -q"}'}
MESSAGE = {
    "role": "assistant",
    "content": "I run the tests first.",
    "tool_calls": [{"id": "call_1", "type": "function", "function": CALL}],
}
ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 40},
    }
)
ENVIRONMENT = {"MODEL_KEY": "sk-0123456789abcdef", "OTHER_TOKEN": "another secret"}  # both are looked for in every text

Ask = Callable[[], Awaitable[None]]


async def serve() -> None:
    """Answer every request with the same completion, until stdin ends."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(text=ANSWER, content_type="application/json")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


@contextmanager
def server() -> Iterator[str]:
    """The address of a server in a process of its own, whose CPU is not counted."""
    command = [sys.executable, __file__, "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def request() -> ChatRequest:
    """A turn of a small session: a system text, a task, a tool."""
    task = ChatMessage(role="user", content=(TextPart(text="Mend the failing test in a.py. " * 20),))
    tool = ToolSpec(name="exec", description="Runs a command in the workspace.", parameters=TOOL)
    return ChatRequest(model="m", system="You mend code. " * 20, messages=(task,), tools=(tool,))


@asynccontextmanager
async def by_hand(url: str) -> AsyncIterator[Ask]:
    """The loop that anybody would write: no retries, no limits, nothing is checked or translated."""
    asked = request()
    function = {"name": "exec", "description": asked.tools[0].description, "parameters": TOOL}
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": asked.system},
            {"role": "user", "content": "Mend the failing test in a.py. " * 20},
        ],
        "tools": [{"type": "function", "function": function}],
    }
    headers = {"Authorization": f"Bearer {ENVIRONMENT['MODEL_KEY']}"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def ask() -> None:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                found = await response.json()
            if found["choices"][0]["message"]["tool_calls"][0]["function"] != CALL:
                raise SystemExit("the answer is another")

        yield ask


@asynccontextmanager
async def by_assay(url: str) -> AsyncIterator[Ask]:
    """The client: a neutral request, and a completion as it is recorded."""
    profile = ProviderProfile(name="bench", kind="openai", base_url=url, api_key_env="MODEL_KEY", model="m")
    provider = open_provider(profile, None, ENVIRONMENT)
    asked = request()

    async def ask() -> None:
        completion = await provider.complete(asked)
        if completion.reply.stop is None or completion.reply.stop.reason != "tool_calls":
            raise SystemExit(f"no answer: {completion.reply}")

    try:
        yield ask
    finally:
        await provider.close()


async def cpu_ms(ask: Ask, n_requests: int) -> float:
    """CPU of this process a request, in milliseconds."""

    async def some(n: int) -> None:
        for _ in range(n):
            await ask()

    await asyncio.gather(*(some(WARM_UP // CONCURRENCY + 1) for _ in range(CONCURRENCY)))
    began = time.process_time()
    await asyncio.gather(*(some(n_requests // CONCURRENCY) for _ in range(CONCURRENCY)))
    return (time.process_time() - began) / (n_requests // CONCURRENCY * CONCURRENCY) * 1000


async def turns(url: str, n_turns: int, n_requests: int) -> list[tuple[float, float]]:
    """Both sides in turns: (assay, by hand)."""
    async with by_hand(url) as bare, by_assay(url) as own:
        return [(await cpu_ms(own, n_requests), await cpu_ms(bare, n_requests)) for _ in range(n_turns)]


def measure(is_short: bool) -> list[Row]:
    """Short: one turn of few requests."""
    n_turns, n_requests = (SHORT_TURNS, SHORT_REQUESTS) if is_short else (TURNS, REQUESTS)
    with server() as url:
        taken = asyncio.run(turns(url, n_turns, n_requests))
    own, bare = (statistics.median(side) for side in zip(*taken, strict=True))
    ratio = statistics.median(a / b for a, b in taken)
    told = "; ".join(f"{a:.3f} / {b:.3f}" for a, b in taken)
    return [
        Row(
            "CPU of the client a request to a model",
            f"{own:.3f} ms",
            f"bare aiohttp loop {bare:.3f} ms",
            f"{ratio:.2f}",
            f"≤ {MAX_RATIO}",
            ratio <= MAX_RATIO,
            f"user and system time of the client's process, {CONCURRENCY} requests under way, the server in another "
            "process. The bare loop posts a dictionary and parses the answer; assay also translates, limits, looks for "
            f"secrets, prices and makes the record. Medians of {n_turns} turns of {n_requests:,} requests a side: "
            f"{told} ms.",
        )
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        tell(measure)
