"""An HTTP proxy before a store server that injects one kind of fault, a counted number of times."""

from __future__ import annotations

import http.client
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

KINDS = ("reply lost", "dropped", "hang", "slow", "flip", "truncate", "refused")
FOR_EVER = 10**9
_SLOW_BYTES_PER_S = 4
_CODES = {
    403: "ExpiredToken",
    409: "ConditionalRequestConflict",
    500: "InternalError",
    503: "ServiceUnavailable",
    507: "XMinioStorageFull",
}


class FaultProxy:
    """`proxy.inject("reply lost", "PUT", "receipt", times=1)`; a number in place of a kind is answered as a status.

    | kind | what the client sees |
    |---|---|
    | reply lost | the store did what was asked; the connection ends before a reply |
    | dropped | the connection ends, and the store was never asked |
    | hang | no reply until `clear` or `close` |
    | slow | a few bytes a second |
    | flip | one bit of the reply's body is another |
    | truncate | the reply ends before its last byte, or within its head where it has no body |
    | refused | the connection ends, and no other is accepted until `clear` |
    """

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.kind: str | int | None = None
        self.method = self.path = self.code = self.text = ""
        self.times = self.n_injected = 0
        self._counting = threading.Lock()
        self._released = threading.Event()
        self._server = self._listen(0)
        self._port = self._server.server_address[1]
        self.endpoint = f"http://127.0.0.1:{self._port}"

    def inject(
        self, kind: str | int, method: str, path: str, *, times: int = FOR_EVER, code: str = "", text: str = "injected"
    ) -> None:
        """From now on, for requests of this method with `path` in theirs; `code` and `text` go into an error's body."""
        assert isinstance(kind, int) or kind in KINDS, kind
        self.method, self.path, self.times, self.n_injected, self.code, self.text = method, path, times, 0, code, text
        self.kind = kind

    def clear(self) -> None:
        """The fault is over; what hangs is let go."""
        self.kind = None
        self._released.set()
        self._released = threading.Event()
        if self._server.socket.fileno() < 0:
            self._server = self._listen(self._port)

    def close(self) -> None:
        self.kind = None
        self._released.set()
        self._stop_listening()

    def take(self, method: str, path: str) -> str | int | None:
        with self._counting:
            is_meant = method == self.method and self.path in path and self.times > 0
            if self.kind is None or not (is_meant or (self.kind == "refused" and self.n_injected)):
                return None
            self.times -= 1
            self.n_injected += 1
            return self.kind

    def refuse(self) -> None:
        with self._counting:
            self._stop_listening()

    def wait(self, seconds: float) -> bool:
        """Until the fault is over or the time is; whether it is over."""
        return self._released.wait(seconds)

    def _listen(self, port: int) -> ThreadingHTTPServer:
        server = _Server(("127.0.0.1", port), _handler(self))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def _stop_listening(self) -> None:
        if self._server.socket.fileno() >= 0:
            self._server.shutdown()
            self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone away is what the tests are about."""


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, TimeoutError):
                self.close_connection = True

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = proxy.take(self.command, self.path)
            if isinstance(fault, int):
                return self.answer(fault, [], _error_body(proxy.code or _CODES[fault], proxy.text))
            if fault == "refused":
                proxy.refuse()
            if fault == "hang":
                proxy.wait(60)
            if fault in ("dropped", "refused", "hang") or (fault == "slow" and self.is_late(len(body))):
                return self.drop()
            status, headers, answer = self.ask(body)
            if fault == "reply lost":
                return self.drop()
            if fault == "flip" and answer:
                middle = len(answer) // 2
                answer = answer[:middle] + bytes([answer[middle] ^ 1]) + answer[middle + 1 :]
            return self.answer(status, headers, answer, fault)

        def is_late(self, n_bytes: int) -> bool:
            """Let the bytes of the request trickle in; whether the fault was over before."""
            return proxy.wait(min(n_bytes / _SLOW_BYTES_PER_S, 60))

        def ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            upstream = http.client.HTTPConnection(proxy.upstream, timeout=30)
            try:
                upstream.request(self.command, self.path, body, dict(self.headers))
                reply = upstream.getresponse()
                return reply.status, reply.getheaders(), reply.read()
            finally:
                upstream.close()

        def answer(
            self, status: int, headers: list[tuple[str, str]], body: bytes, fault: str | int | None = None
        ) -> None:
            is_head = self.command == "HEAD"
            if fault == "truncate" and (is_head or not body):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
                return self.drop()
            self.send_response_only(status)
            lengths = [value for name, value in headers if name.lower() == "content-length"]
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", lengths[0] if is_head and lengths else str(len(body)))
            self.end_headers()
            if is_head:
                return None
            if fault == "slow":
                return self.trickle(body)
            self.wfile.write(body[:-1] if fault == "truncate" else body)
            return self.drop() if fault == "truncate" else None

        def trickle(self, body: bytes) -> None:
            for position in range(len(body)):
                if proxy.wait(1 / _SLOW_BYTES_PER_S):
                    return self.drop()
                self.wfile.write(body[position : position + 1])
                self.wfile.flush()
            return None

        def drop(self) -> None:
            self.close_connection = True
            self.wfile.flush()
            # As of a process that died: half of an exchange must not be waited for.
            self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *args: object) -> None:
            pass

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = forward

    return Handler


def _error_body(code: str, text: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{text}</Message></Error>".encode()
