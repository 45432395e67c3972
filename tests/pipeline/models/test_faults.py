"""What a provider does that goes wrong, at a real server: each is an answer, none an exception, nothing stays open."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from email.utils import formatdate
from typing import Any

import pytest
from aiohttp import web

from pipeline.records.audit_content import TextPart, ToolUsePart


def failed(completion: Any) -> tuple[str, str]:
    assert completion.reply.failed is not None, completion
    return completion.reply.failed.error, completion.reply.failed.reason


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def hangs(_: web.Request) -> web.Response:
    await asyncio.sleep(3600)
    return web.Response()


async def drops(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


def test_a_provider_that_is_down_is_tried_again_and_then_told(kit: Any, waits: Any) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    completion = kit.run_clean(kit.ask(url, waits=waits, max_retries=3))
    error, reason = failed(completion)
    assert error == "connect"
    assert reason.startswith(f"{url} cannot be reached: ")
    assert len(completion.retried) == len(waits.made) == 3
    assert completion.cost.model_dump() == {"unknown": True}


def test_a_host_that_is_no_host_is_told(kit: Any, waits: Any) -> None:
    error, reason = failed(kit.run_clean(kit.ask("http://nowhere.invalid/v1", waits=waits, max_retries=0)))
    assert error == "connect"
    assert "nowhere.invalid" in reason


def test_a_connection_that_is_lost_before_the_answer_is_tried_again(kit: Any) -> None:
    completion, server = kit.exchange(drops, kit.answers(kit.chat()))
    assert completion.reply.message is not None
    assert len(server.seen) == 2
    assert completion.retried[0].reason.startswith("connect: ")


def test_a_provider_that_hangs_is_left_after_the_idle_time_and_not_asked_again(kit: Any) -> None:
    began = time.monotonic()
    completion, server = kit.exchange(hangs, idle_timeout_s=0.2)
    error, reason = failed(completion)
    assert (error, len(server.seen)) == ("timeout", 1)
    assert "no byte for 0.2 s" in reason
    assert time.monotonic() - began < 5


def test_a_stream_that_goes_on_for_ever_is_left_after_the_total_time(kit: Any) -> None:
    async def drips(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        while True:
            await response.write(b": still here\n\n")
            await asyncio.sleep(0.02)

    completion, _ = kit.exchange(drips, stream=True, total_timeout_s=0.3)
    error, reason = failed(completion)
    assert error == "timeout"
    assert "0.3 s are over" in reason


def test_a_stream_that_falls_silent_keeps_what_came(kit: Any) -> None:
    handler = kit.streams(kit.delta(content="Half an "), kit.delta(content="ans"), is_open=True)
    completion, _ = kit.exchange(handler, stream=True, idle_timeout_s=0.2)
    assert failed(completion)[0] == "timeout"
    assert completion.reply.failed.partial.content == (TextPart(text="Half an ans"),)


@pytest.mark.parametrize("is_cut", [True, False], ids=["connection lost", "ended early"])
def test_a_stream_that_is_cut_is_tried_again_and_then_told_with_what_came(is_cut: bool, kit: Any) -> None:
    handler = kit.streams(kit.delta(content="Half an ans"), is_cut=is_cut)
    completion, server = kit.exchange(handler, stream=True, max_retries=1)
    assert failed(completion)[0] == "cut"
    assert len(server.seen) == 2
    assert completion.reply.failed.partial.content == (TextPart(text="Half an ans"),)


def test_a_body_that_is_cut_is_tried_again(kit: Any) -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"choices"')
        assert request.transport is not None
        request.transport.close()
        return response

    completion, _ = kit.exchange(half, kit.answers(kit.chat()))
    assert completion.reply.message is not None
    assert completion.retried[0].reason.startswith("cut: ")


@pytest.mark.parametrize(
    "events, said",
    [
        (["<html>Bad gateway</html>\n\n"], "found the line '<html>Bad gateway</html>'"),
        (["data: {not JSON}\n\n"], "expected JSON, found '{not JSON}'"),
        (["data: [1]\n\n"], "expected a JSON object, found '[1]'"),
        ([{"choices": "x"}], "expected a list of objects as choices"),
        ([{"choices": [{"delta": {"content": 7}}]}], "expected text as content, found int"),
        ([{"choices": [{"delta": {"tool_calls": [{"index": -1}]}}]}], "expected the index of a tool call"),
        ([{"choices": [{"delta": {"tool_calls": [{"index": 10**9}]}}]}], "expected the index of a tool call"),
        ([{"error": {"message": "out of memory"}}], "the endpoint answered with an error: out of memory"),
        (["data: \xff\x00\x01\n\n"], "expected JSON"),
    ],
)
def test_a_stream_of_garbage_is_told(events: list[Any], said: str, kit: Any) -> None:
    completion, server = kit.exchange(kit.streams(*events), stream=True)
    error, reason = failed(completion)
    assert (error, len(server.seen)) == ("protocol", 1)
    assert said in reason


@pytest.mark.parametrize(
    "body, said",
    [
        ("<html>", "expected JSON, found '<html>'"),
        ("", "expected JSON, found nothing"),
        ("[]", "expected a JSON object, found '[]'"),
        ("[" * 100_000, "expected JSON, found '[[["),
        ({}, "the answer has no choices"),
        ({"choices": []}, "the answer has no choices"),
        ({"choices": [{}]}, "the answer has no message"),
        ({"choices": [{"message": "hi"}]}, "expected an object as message, found str"),
        ({"choices": [{"message": {"content": {"a": 1}}}]}, "expected text as content, found dict"),
        ({"choices": [{"message": {"content": "", "tool_calls": [3]}}]}, "expected a list of objects as tool_calls"),
        ({"choices": [{"message": {"tool_calls": [{}] * 1_001}}]}, "the answer has 1,001 tool calls; at most 1,000"),
        ({"error": "overloaded"}, "the endpoint answered with an error: overloaded"),
    ],
)
def test_an_answer_that_is_garbage_is_told(body: Any, said: str, kit: Any) -> None:
    error, reason = failed(kit.exchange(kit.answers(body))[0])
    assert error == "protocol"
    assert said in reason


def test_what_does_not_speak_http_is_told(kit: Any) -> None:
    async def run() -> Any:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            return await kit.ask(f"http://127.0.0.1:{port}")

    error, reason = failed(kit.run_clean(run()))
    assert error == "protocol"
    assert "does not speak HTTP" in reason


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_an_error_that_stays_is_not_asked_for_again(status: int, kit: Any) -> None:
    completion, server = kit.exchange(kit.answers({"error": {"message": "no such model"}}, status=status))
    assert completion.reply.status_error.status == status
    assert "no such model" in completion.reply.status_error.body
    assert (len(server.seen), completion.retried) == (1, ())


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_an_error_that_passes_is_asked_for_again_but_not_for_ever(status: int, kit: Any, waits: Any) -> None:
    completion, server = kit.exchange(kit.answers("busy", status=status), waits=waits, max_retries=4)
    assert completion.reply.status_error.status == status
    assert [attempt.reason for attempt in completion.retried] == [f"status {status}"] * 4
    assert len(server.seen) == 5


def test_an_error_that_passes_is_forgotten_when_the_answer_comes(kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers("", status=500), kit.answers("", status=429), kit.answers(kit.chat()))
    assert completion.reply.message is not None
    assert [attempt.reason for attempt in completion.retried] == ["status 500", "status 429"]


def test_an_error_with_status_200_counts_as_what_it_says(kit: Any) -> None:
    busy = kit.answers({"error": {"code": 503, "message": "busy"}})
    completion, _ = kit.exchange(busy, max_retries=1)
    assert completion.reply.status_error.status == 503


def test_a_long_error_is_cut(kit: Any) -> None:
    completion, _ = kit.exchange(kit.answers("x" * 10_000_000, status=400))
    assert completion.reply.status_error.body == "x" * 4096


@pytest.mark.parametrize("is_streamed", [False, True])
def test_ten_megabytes_of_text_are_an_error_and_not_a_message(is_streamed: bool, kit: Any) -> None:
    text = "x" * 10_000_000
    pieces = [kit.delta(content=text[i : i + 100_000]) for i in range(0, len(text), 100_000)]
    handler = kit.streams(*pieces, "data: [DONE]\n\n") if is_streamed else kit.answers(kit.chat(text))
    error, reason = failed(kit.exchange(handler, stream=is_streamed)[0])
    assert error == "protocol"
    assert "characters of text or more; at most 4,194,304 are read" in reason


def test_a_stream_of_text_without_end_is_left_at_the_bound_and_not_gathered(kit: Any) -> None:
    n_sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal n_sent
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        event = f"data: {json.dumps(kit.delta(content='x' * 100_000))}\n\n".encode()
        for n_sent in range(1_000):  # noqa: B007 - counts what was sent when the client was gone
            await response.write(event)
        return response

    error, reason = failed(kit.exchange(endless, stream=True, max_retries=0)[0])
    assert error == "protocol"
    assert "characters of text or more" in reason
    assert n_sent < 200  # some lie in the buffers of the sockets


def test_an_endless_body_is_left_in_time(kit: Any) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(b" " * 1_000_000)

    assert "the answer has more than 33,554,432 bytes" in failed(kit.exchange(endless)[0])[1]
    reason = failed(kit.exchange(kit.streams("data: " + "x" * 40_000_000), stream=True)[0])[1]
    assert "one event of the stream has more than 16,777,216 bytes" in reason


@pytest.mark.parametrize("content", ["", None, []])
def test_an_empty_answer_is_a_message_without_parts(content: Any, kit: Any) -> None:
    message = kit.exchange(kit.answers(kit.chat(content)))[0].reply.message
    assert message is not None
    assert message.content == ()


def test_tools_that_do_not_exist_and_arguments_that_are_no_json_are_kept_as_they_are(kit: Any) -> None:
    calls = [
        {"id": "a", "type": "function", "function": {"name": "fly", "arguments": '{"to": '}},
        {"type": "function", "function": {"name": "exec", "arguments": {"command": "ls"}}},
    ]
    body = kit.chat()
    body["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": calls}
    completion, _ = kit.exchange(kit.answers(body))
    first, second = completion.reply.message.content
    assert isinstance(first, ToolUsePart)
    assert (first.tool_use.call_id, first.tool_use.tool, first.tool_use.arguments) == ("a", "fly", '{"to": ')
    assert (second.tool_use.call_id, second.tool_use.arguments) == ("call_1", '{"command": "ls"}')
    assert completion.reply.stop.reason == "tool_calls"


def test_retry_after_in_seconds_is_kept(kit: Any, waits: Any) -> None:
    busy = kit.answers("", status=429, headers={"Retry-After": "7"})
    kit.exchange(busy, kit.answers(kit.chat()), waits=waits)
    assert max(waits.made) == 7.0


def test_retry_after_as_a_date_is_kept(kit: Any, waits: Any) -> None:
    busy = kit.answers("", status=503, headers={"Retry-After": formatdate(time.time() + 20, usegmt=True)})
    kit.exchange(busy, kit.answers(kit.chat()), waits=waits)
    assert 17 < waits.made[0] <= 21


def test_retry_after_that_is_no_time_is_passed_over(kit: Any, waits: Any) -> None:
    busy = kit.answers("", status=503, headers={"Retry-After": "soon"})
    completion, _ = kit.exchange(busy, kit.answers(kit.chat()), waits=waits)
    assert completion.reply.message is not None
    assert waits.made == [0.0]


def test_a_pause_of_an_hour_is_not_waited_for(kit: Any, waits: Any) -> None:
    busy = kit.answers("", status=429, headers={"Retry-After": "3600"})
    completion, server = kit.exchange(busy, waits=waits)
    assert completion.reply.status_error.retry_after_s == 3600.0
    assert (len(server.seen), waits.made) == (1, [])


def test_pauses_double_and_are_a_random_part_of_that(kit: Any, waits: Any) -> None:
    class HighestSide:
        made = waits.made
        timing = waits.timing._replace(random=lambda: 1.0)

    kit.exchange(kit.answers("", status=500), waits=HighestSide(), max_retries=8)
    assert waits.made == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_cancelling_leaves_no_task_and_no_connection(is_streamed: bool, kit: Any) -> None:
    async def run() -> None:
        handler = kit.streams(kit.delta(content="Half"), is_open=True) if is_streamed else hangs
        async with kit.server(handler) as server:
            provider = kit.open(kit.profile_of(server.url, stream=is_streamed), None, {})
            asking = asyncio.create_task(provider.complete(kit.said()))
            while not server.seen:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert not provider._endpoint._opened.connector._acquired
            await provider.close()
            await provider.close()

    kit.run_clean(run())


def test_cancelling_between_tries_leaves_nothing(kit: Any) -> None:
    async def run() -> None:
        async with kit.server(kit.answers("", status=503, headers={"Retry-After": "60"})) as server:
            provider = kit.open(kit.profile_of(server.url), None, {})
            asking = asyncio.create_task(provider.complete(kit.said()))
            while not server.seen:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await provider.close()

    kit.run_clean(run())
