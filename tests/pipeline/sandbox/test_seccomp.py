"""The filter of system calls, carried out here as the kernel would."""

from __future__ import annotations

import platform
import struct
from errno import EAFNOSUPPORT, ENOSYS, EPERM

import pytest

from pipeline.errors import SandboxError
from pipeline.sandbox.seccomp import ABSENT, ARCHITECTURES, REFUSED, filter_program

ALLOW, KILL = 0x7FFF0000, 0x80000000
NUMBERS = {  # of unistd.h
    "x86_64": {
        "read": 0,
        "clone": 56,
        "fork": 57,
        "execve": 59,
        "socket": 41,
        "ioctl": 16,
        "openat": 257,
        "mount": 165,
    },
    "aarch64": {"read": 63, "clone": 220, "execve": 221, "socket": 198, "ioctl": 29, "openat": 56, "mount": 40},
}


def verdict(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    audit = ARCHITECTURES[machine].audit if audit is None else audit
    data = struct.pack("<IIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("<HBBI", filter_program(machine)))
    at = value = 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        else:
            met = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += if_true if met else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_usual_calls_are_allowed(machine: str) -> None:
    numbers = NUMBERS[machine]
    assert {verdict(machine, numbers[name]) for name in numbers if name not in ("mount", "socket")} == {ALLOW}
    assert {verdict(machine, numbers["socket"], family) for family in (1, 2, 10)} == {ALLOW}
    assert verdict(machine, numbers["clone"], 0x003D0F00) == ALLOW  # a thread
    assert verdict(machine, numbers["ioctl"], 0, 0x5401) == ALLOW


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_refused_calls_are_refused(machine: str) -> None:
    column = ARCHITECTURES[machine].column
    for numbers in REFUSED.values():
        if numbers[column] is not None:
            assert verdict(machine, numbers[column]) == 0x50000 | EPERM
    assert {verdict(machine, numbers[column]) for numbers in ABSENT.values()} == {0x50000 | ENOSYS}
    numbers = NUMBERS[machine]
    assert verdict(machine, numbers["mount"]) == 0x50000 | EPERM
    assert verdict(machine, numbers["clone"], 0x10000011) == 0x50000 | EPERM
    assert verdict(machine, numbers["ioctl"], 0, 0x5412) == 0x50000 | EPERM
    assert verdict(machine, numbers["ioctl"], 0, 0x1_0000_5412) == 0x50000 | EPERM  # the kernel takes 32 bits of it
    assert {verdict(machine, numbers["socket"], family) for family in (0, 16, 17, 38, 40, 44)} == {
        0x50000 | EAFNOSUPPORT
    }


def test_calls_of_another_architecture_end_the_process() -> None:
    assert verdict("x86_64", 0, audit=0x40000003) == KILL
    assert verdict("x86_64", 0x40000000 | 101) == 0x50000 | EPERM


def test_an_architecture_without_a_filter_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"no filter of system calls for riscv64; .*x86_64 and aarch64"):
        filter_program("riscv64")


def test_this_machine_has_one() -> None:
    if platform.machine() not in ARCHITECTURES:
        pytest.skip(f"no filter for {platform.machine()}")
    assert len(filter_program()) % 8 == 0
    assert len(filter_program()) < 4096 * 8
