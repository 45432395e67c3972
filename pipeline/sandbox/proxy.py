"""One client of the proxy: one request, to one host. HTTP is read as far as is needed to know the host."""

from __future__ import annotations

import re
import selectors
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from pipeline.sandbox.command import NetworkDecision
from pipeline.sandbox.hosts import Host, addresses_of, is_allowed, split_target

MAX_HEAD_BYTES = 32 * 2**10
CONNECT_TIMEOUT_S = 15.0
IDLE_TIMEOUT_S = 300.0
_CHUNK = 2**16
_OWN_HEADERS = ("host", "connection", "keep-alive", "upgrade")
_REQUEST = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]{1,8192}) HTTP/1\.[01]")


class _Request(NamedTuple):
    """What a client wants."""

    method: str
    name: str
    port: int
    head: bytes
    """What is sent on; empty for a tunnel."""
    body_bytes: int


def serve_client(client: socket.socket, hosts: Sequence[Host], note: Callable[[NetworkDecision], None]) -> None:
    """Answer one client, and close it."""
    # Whatever goes wrong with one client is its own affair, and a closed connection tells it.
    with client, suppress(OSError):
        client.settimeout(IDLE_TIMEOUT_S)
        head, _, rest = _head(client).partition(b"\r\n\r\n")
        request = _request(head)
        if request is None:
            note(NetworkDecision("", 0, False, "no request that a proxy understands"))
            _answer(client, "400 Bad Request", "expected CONNECT host:port, or an absolute http address")
            return
        if not is_allowed(hosts, request.name, request.port):
            note(NetworkDecision(request.name, request.port, False, "not among the allowed hosts"))
            _answer(client, "403 Forbidden", f"{request.name}:{request.port} is not among the allowed hosts")
            return
        with _connected(client, request, note) as server:
            _carry(client, server, request, rest)


def _head(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and len(data) <= MAX_HEAD_BYTES:
        piece = client.recv(_CHUNK)
        if not piece:
            break
        data += piece
    return data


def _request(head: bytes) -> _Request | None:
    first, _, rest = head.partition(b"\r\n")
    matched = _REQUEST.fullmatch(first)
    if matched is None or len(head) > MAX_HEAD_BYTES:
        return None
    method, target = matched[1].decode(), matched[2].decode()
    if method == "CONNECT":
        place = split_target(target, None)
        return _Request(method, *place, b"", 0) if place else None
    return _plain_request(method, target, rest)


def _plain_request(method: str, target: str, rest: bytes) -> _Request | None:
    """A request by an absolute address, as it is sent to the host that the address names, and to no other."""
    if not target.lower().startswith("http://"):
        return None
    address = urlsplit(target)
    place = split_target(address.netloc, 80)
    headers = [line.partition(b":")[::2] for line in rest.split(b"\r\n") if line]
    named = [(name.decode("latin-1").lower(), name, value.strip()) for name, value in headers]
    sizes = {value for name, _, value in named if name == "content-length"}
    # A length of its own: with pieces of unknown length, a second request could follow the first one unseen.
    if place is None or any(name == "transfer-encoding" for name, _, _ in named) or len(sizes) > 1:
        return None
    size = next(iter(sizes), b"0")
    if not re.fullmatch(rb"[0-9]{1,12}", size) or any(
        re.fullmatch(rb"[!-9;-~]+", name) is None for _, name, _ in named
    ):
        return None
    path = (address.path or "/") + (f"?{address.query}" if address.query else "")
    kept = [name + b": " + value for lower, name, value in named if lower not in _OWN_HEADERS and "proxy" not in lower]
    lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: " + address.netloc.encode(), b"Connection: close", *kept]
    return _Request(method, *place, b"\r\n".join(lines) + b"\r\n\r\n", int(size))


def _connected(client: socket.socket, request: _Request, note: Callable[[NetworkDecision], None]) -> socket.socket:
    reason = "allowed"
    try:
        addresses = addresses_of(request.name, request.port)
    except OSError as error:
        addresses, reason = [], f"allowed, but its name is not known: {error.strerror}"
    else:
        reason = reason if addresses else "its name leads to no public address"
    note(NetworkDecision(request.name, request.port, bool(addresses) or "allowed" in reason, reason))
    for address in addresses:
        with suppress(OSError):
            return socket.create_connection((address, request.port), CONNECT_TIMEOUT_S)
    _answer(client, "502 Bad Gateway", f"{request.name}:{request.port} does not answer ({reason})")
    raise ConnectionError(reason)


def _carry(client: socket.socket, server: socket.socket, request: _Request, rest: bytes) -> None:
    """Bytes in both directions, until one side ends."""
    if request.method == "CONNECT":
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        server.sendall(rest)
        left = None
    else:
        body = rest[: request.body_bytes]
        server.sendall(request.head + body)
        left = request.body_bytes - len(body)
    with selectors.DefaultSelector() as selector:
        selector.register(server, selectors.EVENT_READ)
        if left != 0:
            selector.register(client, selectors.EVENT_READ)
        while ready := selector.select(IDLE_TIMEOUT_S):
            for key, _ in ready:
                data = (client if key.fileobj is client else server).recv(_CHUNK)
                if key.fileobj is server:
                    if not data:
                        return
                    client.sendall(data)
                    continue
                data = data if left is None else data[:left]
                left = None if left is None else left - len(data)
                if not data or left == 0:
                    selector.unregister(client)
                if data:
                    server.sendall(data)
                elif left is None:
                    server.shutdown(socket.SHUT_WR)


def _answer(client: socket.socket, status: str, text: str) -> None:
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    client.sendall(head.encode() + body)
