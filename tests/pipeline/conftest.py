"""What tests share: an endpoint that lets so many calls a second pass, and refuses the others with status 429."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Endpoint:
    """What came in. A bucket of `burst` calls, filled at `rate` a second."""

    def __init__(self, rate: float, burst: float, retry_after: str | None) -> None:
        self._rate, self._burst, self._retry_after = rate, burst, retry_after
        self._left, self._filled_at = burst, time.monotonic()
        self._lock = threading.Lock()
        self.came: list[float] = []
        self.refused = 0
        self.url = ""

    def answer(self) -> tuple[int, dict[str, str]]:
        with self._lock:
            now = time.monotonic()
            self.came.append(now)
            self._left = min(self._burst, self._left + (now - self._filled_at) * self._rate)
            self._filled_at = now
            if self._left >= 1:
                self._left -= 1
                return 200, {}
            self.refused += 1
            return 429, {} if self._retry_after is None else {"Retry-After": self._retry_after}

    def ahead_s(self, began: float, rate: float) -> float:
        """By how much a call came before its turn at most, if the first turn was at `began`.

        A machine that stalls makes calls come late and close together, and never before their turn.
        """
        return max(began + number / rate - at for number, at in enumerate(sorted(self.came)))


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


@contextlib.contextmanager
def limited_server(rate: float, *, burst: float, retry_after: str | None = None) -> Iterator[Endpoint]:
    endpoint = Endpoint(rate, burst, retry_after)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers = endpoint.answer()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": "2"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(name="limited_server")
def give_limited_server() -> Any:
    """`with limited_server(rate, burst=…, retry_after=…) as endpoint`."""
    return limited_server
