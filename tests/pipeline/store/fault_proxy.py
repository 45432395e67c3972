"""An HTTP proxy before a store server that injects one kind of fault, a counted number of times."""

from __future__ import annotations

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

KINDS = ("reply lost", "dropped", "hang", "flip", "truncate")


class FaultProxy:
    """`proxy.inject("reply lost", "PUT", "receipt", times=1)`; a number in place of a kind is answered as a status."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.kind: str | int | None = None
        self.method = self.path = ""
        self.times = self.n_injected = 0
        self._counting = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def inject(self, kind: str | int, method: str, path: str, *, times: int = 10**9) -> None:
        self.kind, self.method, self.path, self.times, self.n_injected = kind, method, path, times, 0

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, method: str, path: str) -> str | int | None:
        with self._counting:
            if self.kind is None or method != self.method or self.path not in path or self.times <= 0:
                return None
            self.times -= 1
            self.n_injected += 1
            return self.kind

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (ConnectionError, TimeoutError):
                    self.close_connection = True

            def forward(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                fault = proxy.take(self.command, self.path)
                if isinstance(fault, int):
                    return self.answer(fault, [], _error_body(fault))
                if fault == "dropped":
                    return self.drop()
                if fault == "hang":
                    time.sleep(30)
                    return self.drop()
                status, headers, answer = self.ask(body)
                if fault == "reply lost":
                    return self.drop()
                if fault == "flip" and answer:
                    answer = answer[:-1] + bytes([answer[-1] ^ 1])
                return self.answer(status, headers, answer, cut=1 if fault == "truncate" else 0)

            def ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
                upstream = http.client.HTTPConnection(proxy.upstream, timeout=30)
                try:
                    upstream.request(self.command, self.path, body, dict(self.headers))
                    reply = upstream.getresponse()
                    return reply.status, reply.getheaders(), reply.read()
                finally:
                    upstream.close()

            def answer(self, status: int, headers: list[tuple[str, str]], body: bytes, cut: int = 0) -> None:
                self.send_response_only(status)
                lengths = [value for name, value in headers if name.lower() == "content-length"]
                for name, value in headers:
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                is_head = self.command == "HEAD"
                self.send_header("Content-Length", lengths[0] if is_head and lengths else str(len(body)))
                self.end_headers()
                if not is_head:
                    self.wfile.write(body[: len(body) - cut] if cut else body)
                if cut:
                    self.drop()

            def drop(self) -> None:
                self.close_connection = True
                self.wfile.flush()

            def log_message(self, *args: object) -> None:
                pass

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = forward

        return Handler


def _error_body(status: int) -> bytes:
    codes = {403: "ExpiredToken", 409: "ConditionalRequestConflict", 500: "InternalError", 503: "ServiceUnavailable"}
    return f"<Error><Code>{codes[status]}</Code><Message>injected</Message></Error>".encode()
