"""The system calls that a sandboxed command is refused, as a program for the kernel. Needs no library.

Source: seccomp(2); `struct seccomp_data` holds the call's number at 0, the architecture at 4, its arguments from 16 on.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterable
from errno import EAFNOSUPPORT, ENOSYS, EPERM
from functools import cache
from typing import NamedTuple

from pipeline.errors import SandboxError

REFUSED: dict[str, tuple[int | None, int | None]] = {
    # Mounts and roots.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "open_tree": (428, 428), "mount_setattr": (442, 442), "swapon": (167, 224), "swapoff": (168, 225),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "fanotify_init": (300, 262),
    # Other processes and namespaces.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "unshare": (272, 97), "setns": (308, 268),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "personality": (135, 92),
    # The kernel and the machine.
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "reboot": (169, 142), "acct": (163, 89),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "syslog": (103, 116), "vhangup": (153, 58), "sethostname": (170, 161), "setdomainname": (171, 162),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None),
    "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "_sysctl": (156, None), "sysfs": (139, None),
    # Memory that belongs to no process and to no folder, so that nobody would count it.
    "shmget": (29, 194), "msgget": (68, 186), "mq_open": (240, 180),
}  # fmt: skip
"""Name → its number on x86-64 and on aarch64; None where there is no such call."""

ABSENT: dict[str, tuple[int, int]] = {
    # What falls back to something that can be looked into: clone3 hides its flags behind a pointer.
    "clone3": (435, 435),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
}
"""Calls that are answered as by a kernel that does not know them."""

_SOCKET, _CLONE, _IOCTL = (41, 198), (56, 220), (16, 29)
SOCKET_FAMILIES = (1, 2, 10)  # Unix, IPv4, IPv6: any other talks to the kernel or past the network namespace
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW*: mount, cgroup, uts, ipc, user, pid, network
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX put keys into somebody else's terminal
_X32 = 0x40000000  # the same calls under other numbers

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24


class Architecture(NamedTuple):
    """One that there is a filter for."""

    column: int
    audit: int


ARCHITECTURES = {"x86_64": Architecture(0, 0xC000003E), "aarch64": Architecture(1, 0xC00000B7)}


@cache
def filter_program(machine: str | None = None) -> bytes:
    """The filter as an array of `struct sock_filter`, as bubblewrap takes it.

    Args:
        machine: as of `platform.machine`; None: this one.

    Raises:
        SandboxError: there is none for this architecture, so that nothing can be run in isolation.
    """
    machine = machine or platform.machine()
    found = ARCHITECTURES.get({"amd64": "x86_64", "arm64": "aarch64"}.get(machine.lower(), machine))
    if found is None:
        known = " and ".join(ARCHITECTURES)
        raise SandboxError(f"there is no filter of system calls for {machine}; driver native needs {known}")
    return b"".join(_program(found))


def _program(found: Architecture) -> Iterable[bytes]:
    yield _step(_LOAD, _ARCHITECTURE_AT)
    yield _step(_EQUAL, found.audit, 1, 0)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER_AT)
    if found.column == 0:
        yield from _answer_if(_AT_LEAST, _X32, EPERM)
    for numbers in REFUSED.values():
        number = numbers[found.column]
        if number is not None:
            yield from _answer_if(_EQUAL, number, EPERM)
    for known in ABSENT.values():
        yield from _answer_if(_EQUAL, known[found.column], ENOSYS)
    yield from _look_into(_CLONE[found.column], _FIRST_ARGUMENT_AT, [(_ANY_BIT, _NEW_NAMESPACES)], EPERM)
    yield from _look_into(
        _IOCTL[found.column], _SECOND_ARGUMENT_AT, [(_EQUAL, value) for value in _TERMINAL_INPUT], EPERM
    )
    yield from _only_families(_SOCKET[found.column])
    yield _step(_RETURN, _ALLOW)


def _answer_if(test: int, value: int, error: int) -> Iterable[bytes]:
    yield _step(test, value, 0, 1)
    yield _step(_RETURN, _ERROR | error)


def _look_into(number: int, argument_at: int, tests: list[tuple[int, int]], error: int) -> Iterable[bytes]:
    """Of one call: an error if an argument passes any test, else it is allowed."""
    yield _step(_EQUAL, number, 0, 2 + 2 * len(tests))
    yield _step(_LOAD, argument_at)
    for test, value in tests:
        yield from _answer_if(test, value, error)
    yield _step(_RETURN, _ALLOW)


def _only_families(number: int) -> Iterable[bytes]:
    n_families = len(SOCKET_FAMILIES)
    yield _step(_EQUAL, number, 0, 3 + n_families)
    yield _step(_LOAD, _FIRST_ARGUMENT_AT)
    for place, family in enumerate(SOCKET_FAMILIES):
        yield _step(_EQUAL, family, n_families - place, 0)
    yield _step(_RETURN, _ERROR | EAFNOSUPPORT)
    yield _step(_RETURN, _ALLOW)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
