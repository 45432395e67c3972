"""Makes the kernel refuse system calls of this thread, and of what it starts, with an error of one's choice.

A disk that breaks cannot be had for a test; a seccomp filter gives the very `errno` that it would give. Linux only; a
filter stays until its threads end.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys

FSYNC = {"x86_64": (0xC000003E, 74), "aarch64": (0xC00000B7, 82)}
"""By machine: its mark in a filter, and the number of the call."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def is_possible() -> bool:
    return sys.platform == "linux" and platform.machine() in FSYNC


def refuse_fsync(errno: int) -> None:
    """From now on `fsync` fails in this thread and in threads that it starts."""
    mark, number = FSYNC[platform.machine()]
    load, jump_if_equal, answer = 0x20, 0x15, 0x06
    program = [
        (load, 0, 0, 4),  # the machine
        (jump_if_equal, 0, 3, mark),
        (load, 0, 0, 0),  # the call
        (jump_if_equal, 0, 1, number),
        (answer, 0, 0, _ERRNO | errno),
        (answer, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    head = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, ctypes.addressof(head), 0, 0)):
        if libc.prctl(*map(ctypes.c_ulong, arguments)) != 0:
            raise OSError(ctypes.get_errno(), "the kernel takes no seccomp filter")
