"""A session whose model is behind HTTP: tries, refusals, faults, and a request that nobody waits for."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pipeline.models.open_provider import open_provider
from pipeline.models.timing import Timing
from pipeline.records.capture import ProviderExchange
from pipeline.records.eval_spec import Limits
from pipeline.records.provider_profile import ProviderProfile


class Endpoint(ThreadingHTTPServer):
    """Gives the answers of a list, one a request; keeps what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[Any] = []


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        status, answer = self.server.answers.pop(0)
        if answer == "hang":
            time.sleep(5)
            return
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) + (100 if answer == b"cut" else 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def endpoint(serve: Any) -> Iterator[Endpoint]:
    found = Endpoint()
    with serve(found):
        yield found


def reply(content: str | None = None, **more: Any) -> tuple[int, Any]:
    """An answer with text, or one that calls `exec`."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if command := more.pop("command", None):
        function = {"name": "exec", "arguments": json.dumps({"command": command})}
        message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
    reason = "tool_calls" if "tool_calls" in message else "stop"
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    choice = {"message": message, "finish_reason": reason, **more.pop("choice", {})}
    return 200, {"model": "m-1", "choices": [choice], "usage": usage, **more}


def asking(endpoint: Endpoint, **fields: Any) -> Any:
    async def at_once(_s: float) -> None:
        """No test waits."""

    profile = ProviderProfile.model_validate(
        {
            "name": "house", "kind": "openai", "base_url": f"http://127.0.0.1:{endpoint.server_port}/v1",
            "max_retries": 2, "prices": {"input": 100.0, "output": 1000.0}, **fields,
        }
    )  # fmt: skip
    return open_provider(profile, "m", {}, timing=Timing(sleep=at_once))


def test_every_try_has_an_event_and_one_that_was_refused_cost_nothing(rehearsal, endpoint: Endpoint) -> None:
    endpoint.answers = [(429, {}), (503, {}), reply(command="echo hi"), reply("It is done.")]
    with rehearsal.play([], provider=asking(endpoint), max_cost=1.0) as outcome:
        assert outcome.ending.reason == "finished"
        assert list(rehearsal.results(outcome).values()) == [(False, "hi\n[exit status 0]")]
        facts = rehearsal.facts(outcome)
        assert (facts.turns, facts.requests, facts.free_turns, facts.unpriced_turns) == (2, 4, 2, 0)
        assert facts.spend == {"USD": 0.4}
        usage = [raw for name, raw in rehearsal.events(outcome) if name == "usage"]
        assert [each["input_tokens"] for each in usage] == [0, 0, 1000, 1000]
        assert endpoint.asked[3]["messages"][-1] == {
            "role": "tool", "tool_call_id": "c1", "content": "hi\n[exit status 0]",
        }  # fmt: skip
        endpoint.answers = []
        with rehearsal.replayed(outcome) as again:
            assert rehearsal.facts(again).spend == {"USD": 0.4}
    assert len(endpoint.asked) == 4


@pytest.mark.parametrize(
    ("answers", "reason", "n_requests"),
    [
        ([(429, {})] * 3, "rate_limited", 3),
        ([(500, {})] * 3, "errored", 3),
        ([(400, {"error": "no"})], "errored", 1),
        ([(401, {})], "errored", 1),
        ([(200, "words")], "errored", 1),
        ([(200, {"choices": []})], "errored", 1),
        ([(200, b"\x00\xff{")], "errored", 1),
        ([(200, b"cut")] * 3, "errored", 3),
    ],
)
def test_an_endpoint_that_fails_for_ever_ends_the_session(
    rehearsal, endpoint: Endpoint, answers: list[Any], reason: str, n_requests: int
) -> None:
    endpoint.answers = list(answers)
    with rehearsal.play([], provider=asking(endpoint)) as outcome:
        assert outcome.ending.reason == reason
        assert rehearsal.facts(outcome).requests == n_requests


def test_an_endpoint_that_hangs_is_left_when_time_is_up(rehearsal, endpoint: Endpoint) -> None:
    endpoint.answers = [(200, "hang")]
    began = time.monotonic()
    world = rehearsal.world()._replace(monotonic=time.monotonic)
    with rehearsal.play([], provider=asking(endpoint), limits=Limits(wall_clock_s=1.0), world=world) as outcome:
        assert time.monotonic() - began < 4
        assert (outcome.ending.reason, rehearsal.facts(outcome).unpriced_turns) == ("budget_reached", 1)


def test_ids_and_logprobs_of_different_lengths_are_kept_as_they_came(rehearsal, endpoint: Endpoint) -> None:
    logprobs = {"content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}]}
    endpoint.answers = [
        reply("done", choice={"logprobs": logprobs, "token_ids": [5, 6]}, prompt_token_ids=[1, 2, 3]),
    ]
    with rehearsal.play([], provider=asking(endpoint, kind="vllm")) as outcome:
        (exchange,) = outcome.capture.exchanges
        assert isinstance(exchange, ProviderExchange)
        assert exchange.tokens is not None
        assert (len(exchange.tokens.response_token_ids), len(exchange.tokens.old_logprobs)) == (2, 1)
