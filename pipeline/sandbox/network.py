"""The way out of a sandbox, where there is one: a proxy that lets through what is allowed and notes what was asked.

It listens on a Unix socket that is bound into the sandbox, and on a port of the sandbox's own network namespace, which
has no other way out. The port is opened from outside, so that no relay has to run among the processes that it serves.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pipeline.errors import SandboxError
from pipeline.sandbox import inner_listener
from pipeline.sandbox.command import NetworkDecision, SandboxedCommand
from pipeline.sandbox.descriptors import Descriptor
from pipeline.sandbox.hosts import Host, checked_hosts
from pipeline.sandbox.profile import PROXY_PORT, PROXY_SOCKET
from pipeline.sandbox.proxy import serve_client

MAX_CLIENTS = 64  # at once; others wait to be accepted
MAX_DECISIONS = 10_000  # that are kept; those of a command that asks more often would fill the memory
_OPEN_TIMEOUT_S = 30.0


class Network:
    """What was asked of the proxy so far. Without hosts there is no proxy, and nothing is ever asked."""

    def __init__(self) -> None:
        self._decisions: list[NetworkDecision] = []
        self._lock = threading.Lock()

    def note(self, decision: NetworkDecision) -> None:
        """Add one."""
        with self._lock:
            if len(self._decisions) < MAX_DECISIONS:
                self._decisions.append(decision)

    def decisions(self) -> tuple[NetworkDecision, ...]:
        """All, in order; the first `MAX_DECISIONS` of them."""
        with self._lock:
            return tuple(self._decisions)


@contextmanager
def opened_network(command: SandboxedCommand, process: int, root: int) -> Iterator[Network]:
    """The proxy of one sandbox, for as long as the block lasts.

    Args:
        process: one in the sandbox's network namespace.
        root: the sandbox's own file system, as a descriptor.

    Raises:
        SandboxError: its port cannot be opened.
    """
    network = Network()
    if not command.network_hosts:
        yield network
        return
    hosts = checked_hosts(command.network_hosts)
    with _unix_listener(root) as outer, _inner_listener(process) as inner:
        stopping, stop = socket.socketpair()
        server = threading.Thread(
            target=_serve, args=((outer, inner), stopping, hosts, network), name="assay-proxy", daemon=True
        )
        server.start()
        try:
            yield network
        finally:
            stop.close()
            server.join()
            stopping.close()


def _unix_listener(root: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    with Descriptor(os.open("proxy", os.O_RDONLY | os.O_DIRECTORY, dir_fd=root)) as folder:
        # By the descriptor: the folder is in another namespace of mounts.
        place = f"/proc/self/fd/{folder.number}/{PROXY_SOCKET}"
        listener.bind(place)
        os.chmod(place, 0o666)
    listener.listen(MAX_CLIENTS)
    return listener


def _inner_listener(process: int) -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        number = theirs.fileno()
        arguments = [sys.executable, "-I", "-S", inner_listener.__file__, str(number), str(process), str(PROXY_PORT)]
        with subprocess.Popen(arguments, env={}, cwd="/", stdin=subprocess.DEVNULL, pass_fds=(number,)) as opening:
            theirs.close()
            ours.settimeout(_OPEN_TIMEOUT_S)
            try:
                message, descriptors, _, _ = socket.recv_fds(ours, 4096, 1)
            except OSError as error:
                message, descriptors = str(error).encode(), []
            finally:
                opening.kill()
    if not descriptors:
        raise SandboxError(f"the sandbox's network cannot be opened: {message.decode('utf-8', 'replace')}")
    return socket.socket(fileno=descriptors[0])


def _serve(
    listeners: Sequence[socket.socket], stopping: socket.socket, hosts: Sequence[Host], network: Network
) -> None:
    clients: list[tuple[threading.Thread, socket.socket]] = []
    with selectors.DefaultSelector() as selector:
        for each in (*listeners, stopping):
            selector.register(each, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select(None if len(clients) < MAX_CLIENTS else 0.05)]
            if stopping in ready:
                break
            clients = [client for client in clients if client[0].is_alive()]
            for listener in listeners:
                if listener in ready and len(clients) < MAX_CLIENTS:
                    with suppress(OSError):
                        clients.append(_begin(listener.accept()[0], hosts, network))
    for thread, client in clients:
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        thread.join()


def _begin(client: socket.socket, hosts: Sequence[Host], network: Network) -> tuple[threading.Thread, socket.socket]:
    thread = threading.Thread(target=serve_client, args=(client, hosts, network.note), name="assay-proxy", daemon=True)
    thread.start()
    return thread, client
