"""Opens a port in the network namespace of another process and hands it over. A script of its own: a process that has
threads cannot enter a namespace of users.

    python -I -S inner_listener.py CONTROL_FD PROCESS PORT
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import sys

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_OWNING_USERS = 0xB701  # NS_GET_USERNS: the namespace of users that a network namespace belongs to


def main() -> None:
    """Enter, listen, hand over."""
    control, process, port = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], int(sys.argv[3])
    try:
        network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
        if os.getuid() != 0:
            _enter(fcntl.ioctl(network, _OWNING_USERS), _NEW_USER)
        _enter(network, _NEW_NETWORK)
        listener = socket.create_server(("127.0.0.1", port), backlog=64)
    except OSError as error:
        control.send(f"{error.strerror}".encode())
        sys.exit(1)
    socket.send_fds(control, [b"!"], [listener.fileno()])


def _enter(namespace: int, kind: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, kind) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
