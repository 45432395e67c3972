"""The one way out: what is allowed gets there, what is not does not, and both are noted."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from pipeline.errors import InputError
from pipeline.sandbox import CommandOutcome
from pipeline.sandbox.hosts import Host, addresses_of, checked_hosts, is_allowed

Shell = Callable[..., CommandOutcome]


class _Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._say(f"GET {self.path} {self.headers['Host']}")

    def do_POST(self) -> None:
        self._say(f"POST {self.rfile.read(int(self.headers['Content-Length'])).decode()}")

    def _say(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def script(text: str) -> str:
    return f"cat > /tmp/x.py <<'EOF'\nimport socket, urllib.request\n{text}\nEOF\npython3 /tmp/x.py"


def test_an_allowed_host_is_reached_and_others_are_not_and_both_are_noted(shell: Shell, port: int) -> None:
    text = (
        f"for url in ('http://localhost:{port}/a?b=c', 'http://other.example/'):\n"
        "    try: print(urllib.request.urlopen(url).read().decode())\n"
        "    except urllib.error.HTTPError as error: print(error.code, error.read().decode().strip())\n"
    )
    outcome = shell(script(text), network_hosts=(f"localhost:{port}",))
    assert outcome.text.splitlines() == [
        f"GET /a?b=c localhost:{port}",
        "403 other.example:80 is not among the allowed hosts",
    ]
    noted = [(each.host, each.port, each.is_allowed) for each in outcome.network]
    assert noted == [("localhost", port, True), ("other.example", 80, False)]


def test_a_body_arrives_and_so_does_what_a_tunnel_carries(shell: Shell, port: int) -> None:
    text = f"""
print(urllib.request.urlopen('http://127.0.0.1:{port}/', data=b'x' * 100000).read().decode().count('x'))
s = socket.create_connection(('127.0.0.1', 3128))
s.sendall(b'CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n')
print(s.recv(99).decode().strip())
s.sendall(b'GET /t HTTP/1.0\\r\\nHost: h\\r\\n\\r\\n')
print(s.makefile().read().splitlines()[-1])
"""
    outcome = shell(script(text), network_hosts=(f"127.0.0.1:{port}",))
    assert outcome.text.splitlines() == ["100000", "HTTP/1.1 200 Connection established", "GET /t h"]


def test_the_proxy_is_also_on_a_unix_socket(shell: Shell, port: int) -> None:
    text = f"""
s = socket.socket(socket.AF_UNIX)
s.connect('/run/assay/proxy.sock')
s.sendall(b'GET http://127.0.0.1:{port}/u HTTP/1.1\\r\\n\\r\\n')
print(s.makefile().read().splitlines()[-1])
"""
    assert shell(script(text), network_hosts=(f"127.0.0.1:{port}",)).text == f"GET /u 127.0.0.1:{port}\n"


def test_a_host_that_does_not_answer_is_told(shell: Shell) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
    text = f"""
try: urllib.request.urlopen('http://127.0.0.1:{closed}/')
except urllib.error.HTTPError as error: print(error.code)
"""
    outcome = shell(script(text), network_hosts=(f"127.0.0.1:{closed}",))
    assert outcome.text == "502\n"
    assert [each.is_allowed for each in outcome.network] == [True]


def test_without_hosts_nothing_is_noted(shell: Shell) -> None:
    assert shell("env | grep -i proxy; ls /run/assay 2>&1").network == ()


@pytest.mark.parametrize(
    "text, host",
    [
        ("example.com", Host("example.com", (80, 443))),
        ("Example.COM.", Host("example.com", (80, 443))),
        ("example.com:8080", Host("example.com", (8080,))),
        ("127.0.0.1:1", Host("127.0.0.1", (1,))),
        ("[::1]", Host("::1", (80, 443))),
        ("[0:0::1]:7", Host("::1", (7,))),
    ],
)
def test_hosts_are_read(text: str, host: Host) -> None:
    assert checked_hosts((text,)) == (host,)


@pytest.mark.parametrize(
    "text", ["", "a b", "http://a", "a/b", "a:0", "a:65536", "a:b", "*.a", "user@a", "[::1", "a..b", "x" * 300, "a\n"]
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="network host"):
        checked_hosts((text,))


def test_a_part_of_a_name_is_not_the_name() -> None:
    hosts = checked_hosts(("example.com",))
    assert is_allowed(hosts, "example.com", 443)
    assert not any(is_allowed(hosts, name, 443) for name in ("a.example.com", "example.com.evil", "xample.com"))
    assert not is_allowed(hosts, "example.com", 22)


def test_a_name_that_leads_into_this_machine_leads_nowhere() -> None:
    """A number is a name to the list, and an address to the machine."""
    assert addresses_of("2130706433", 80) == []
    assert addresses_of("127.1", 80) == []
    assert addresses_of("127.0.0.1", 80) == ["127.0.0.1"]
