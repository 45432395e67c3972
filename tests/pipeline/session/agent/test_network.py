"""The network as an agent has it: hosts that were granted, through the proxy, and what the log says of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pipeline.records.eval_spec import Limits

HOST = "127.0.0.1"
ASK = "python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())'"


class Web(ThreadingHTTPServer):
    """A web server on this machine, with pages that behave and pages that do not."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Pages)
        self.asked: list[str] = []
        self.place = f"{HOST}:{self.server_port}"

    def url(self, path: str) -> str:
        return f"http://{self.place}{path}"


class _Pages(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                for _ in range(200):
                    self.wfile.write(b"x")
                    time.sleep(0.1)
            return
        body = b"much " * 1_000_000 if self.path == "/large" else b"a page"
        self.send_response({"/missing": 404, "/moved": 302}.get(self.path, 200))
        self.send_header("Location", "http://elsewhere.invalid/")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server(serve: Any) -> Iterator[Web]:
    found = Web()
    with serve(found):
        yield found


@pytest.fixture
def web(server: Web) -> Web:
    server.asked.clear()
    return server


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def fetch(url: str) -> dict[str, Any]:
    return call("fetch_url", url=url)


def script(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    return [*({"tool_calls": [each]} for each in calls), {"text": "done"}]


def test_a_page_of_a_granted_host_is_fetched_and_counted(rehearsal, web: Web) -> None:
    with rehearsal.play(script(fetch(web.url("/a?b=c")), fetch(web.url("/b"))), network_hosts=(web.place,)) as outcome:
        assert list(rehearsal.results(outcome).values()) == [(False, "a page")] * 2
        assert web.asked == ["/a?b=c", "/b"]
        events = rehearsal.events(outcome)
        assert events[-3][0] == "session.end"
        assert events[-2] == ("network.connection", {"host": HOST, "granted": 2, "refused": 0})
        assert events[-1] == ("network.summary", {"granted": 2, "refused": 0, "diagnostic": ""})
        facts = rehearsal.facts(outcome)
        assert (facts.hosts, facts.refused_hosts, facts.n_refusals) == ((HOST,), (), 0)
        actions = [raw["action"] for name, raw in events if name == "approval.response"]
        assert actions == ["call.fetch_url", "net.fetch.1.0.0.127"] * 2


def test_a_host_that_was_not_granted_is_refused_and_never_asked(rehearsal, web: Web) -> None:
    with rehearsal.play(script(fetch(web.url("/a"))), network_hosts=("example.org",)) as outcome:
        ((is_error, _),) = rehearsal.results(outcome).values()
        assert is_error
        assert web.asked == []
        assert rehearsal.events(outcome)[-2:] == [
            ("network.connection", {"host": HOST, "granted": 0, "refused": 1}),
            ("network.summary", {"granted": 0, "refused": 1, "diagnostic": f"{HOST} was refused"}),
        ]


def test_a_host_that_the_approvals_deny_is_not_asked_though_it_was_granted(rehearsal, web: Web) -> None:
    turns = script(fetch(web.url("/a")))
    with rehearsal.play(turns, network_hosts=(web.place,), file={"approvals": {"net.fetch": "deny"}}) as outcome:
        assert (web.asked, rehearsal.facts(outcome).refused_hosts) == ([], (HOST,))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/a", "file:///etc/passwd", "127.0.0.1", "http://", "http://a b/",
        "http://127.0.0.1\\@evil/", "http://127.0.0.1/\r\nHost: evil", "http://[::1/", "https://127.0.0.1:99999/",
        "x" * 5000, "http://evil@127.0.0.1:1@127.0.0.1/", "HTTP://127.0.0.1#@example.org/", "http://example.org\t/",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_granted_host_reaches_nobody(rehearsal, web: Web, url: str) -> None:
    with rehearsal.play(script(fetch(url)), network_hosts=(web.place,)) as outcome:
        ((is_error, _),) = rehearsal.results(outcome).values()
        assert is_error
        assert web.asked == []
        assert rehearsal.facts(outcome).connections_granted == 0


def test_errors_and_redirects_to_elsewhere_are_told(rehearsal, web: Web) -> None:
    turns = script(fetch(web.url("/missing")), fetch(web.url("/moved")))
    with rehearsal.play(turns, network_hosts=(web.place,)) as outcome:
        (missing, moved) = rehearsal.results(outcome).values()
        assert (missing[0], moved[0]) == (True, True)
        assert "404" in missing[1]
        assert "403" in moved[1]
        assert rehearsal.facts(outcome).refused_hosts == ("elsewhere.invalid",)


def test_a_large_page_is_cut_and_a_slow_one_given_up(rehearsal, web: Web) -> None:
    turns = script(fetch(web.url("/large")), fetch(web.url("/slow")))
    began = time.monotonic()
    with rehearsal.play(turns, network_hosts=(web.place,), limits=Limits(tool_timeout_s=2.0)) as outcome:
        large, slow = rehearsal.results(outcome).values()
        assert (large[0], len(large[1]) < 40_000) == (False, True)
        assert "characters left out" in large[1]
        assert slow[0]
        assert "stopped after 2 s" in slow[1]
    assert time.monotonic() - began < 20


def test_commands_reach_granted_hosts_alone_and_both_are_counted(rehearsal, web: Web) -> None:
    turns = script(
        call("exec", command=f"{ASK} {web.url('/from-inside')}"),
        call("exec", command=f"{ASK} http://example.invalid/ 2>&1 | tail -1"),
    )
    with rehearsal.play(turns, network_hosts=(web.place,)) as outcome:
        inside, outside = rehearsal.results(outcome).values()
        assert inside == (False, "a page\n[exit status 0]")
        assert "403" in outside[1]
        assert rehearsal.events(outcome)[-3:] == [
            ("network.connection", {"host": HOST, "granted": 1, "refused": 0}),
            ("network.connection", {"host": "example.invalid", "granted": 0, "refused": 1}),
            ("network.summary", {"granted": 1, "refused": 1, "diagnostic": "example.invalid was refused"}),
        ]


def test_without_hosts_there_is_no_network_at_all(rehearsal, web: Web) -> None:
    with rehearsal.play(script(call("exec", command=f"{ASK} {web.url('/')} 2>&1 | tail -1"))) as outcome:
        ((_, said),) = rehearsal.results(outcome).values()
        assert "urlopen error" in said
        facts = rehearsal.facts(outcome)
        assert (web.asked, facts.connections_granted, facts.hosts) == ([], 0, ())


def test_what_a_helper_reaches_its_parents_log_has_too(rehearsal, web: Web) -> None:
    turns = script(call("spawn_agent", task="look it up"), fetch(web.url("/a")))
    with rehearsal.play([*turns, {"text": "done"}], network_hosts=(web.place,)) as outcome:
        assert len(rehearsal.facts(outcome).children) == 1
        assert rehearsal.facts(outcome).hosts == (HOST,)
        assert rehearsal.events(outcome)[-2] == ("network.connection", {"host": HOST, "granted": 1, "refused": 0})
        with rehearsal.replayed(outcome) as again:
            assert rehearsal.facts(again).hosts == (HOST,)


def test_what_an_agent_has_forbidden_itself_its_helpers_may_not_do_either(rehearsal) -> None:
    calls = [
        call("restrict_self", action="exec", reason="files are enough"),
        call("exec", command="touch one"),
        call("spawn_agent", task="touch two"),
        call("exec", command="touch two"),
    ]
    with rehearsal.play(
        [*({"tool_calls": [each]} for each in calls), {"text": "I may not."}, {"text": "done"}],
        file={"approvals": {"exec.shell": "allow"}},
    ) as outcome:
        assert outcome.capture.workspace.patch_base64 == b""
        assert [failed for failed, _ in rehearsal.results(outcome).values()] == [False, True, False]


def test_the_hosts_are_part_of_the_sandboxs_digest(rehearsal) -> None:
    digests = []
    for hosts in ((), (), ("example.org",)):
        with rehearsal.play([{"text": "done"}], network_hosts=hosts) as outcome:
            digests.append(rehearsal.facts(outcome).sandbox_hash)
    assert digests[0] == digests[1] != digests[2]
