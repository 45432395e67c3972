"""The processes of one sandbox, seen from outside: what they hold, how they are bounded, how they all end."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from contextlib import suppress

from pipeline.errors import SandboxError
from pipeline.sandbox.profile import WORKSPACE

SETUP_WAIT_S = 30.0  # for bubblewrap to make its mounts
_LOOK_AGAIN_S = 0.001
END_WAIT_S = 10.0  # for the kernel to take down a namespace whose first process was killed
_HELD = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB", re.MULTILINE)
_SHARE = re.compile(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB", re.MULTILINE)


class Inmates:
    """All processes in the namespace whose first process is `first`.

    They are found in the sandbox's own /proc, where there are no others: neither a new session nor a lost parent hides
    one from it.

    Args:
        first: bubblewrap's process number 1 inside, by its number outside; it must not have run the command yet.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        try:
            self._handle = os.pidfd_open(first)
        except ProcessLookupError:
            raise SandboxError("the sandbox ended before it was laid out") from None
        try:
            self._proc = _own_proc(first)
        except BaseException:
            os.close(self._handle)
            raise

    def numbers(self) -> list[str]:
        """The processes that there are, by their numbers inside."""
        try:
            return [name for name in os.listdir(self._proc) if name.isdigit()]
        except OSError:  # the namespace is gone
            return []

    def memory_bytes(self, most: int) -> int:
        """Memory of all processes that no file gives back.

        Pages that several share are counted once only where the plain sum, which is cheaper, exceeds `most`.
        """
        plain = sum(self._sum(f"{number}/status", _HELD) or 0 for number in self.numbers())
        return plain if plain <= most else sum(self._share(number) for number in self.numbers())

    def _share(self, number: str) -> int:
        found = self._sum(f"{number}/smaps_rollup", _SHARE)
        return found if found is not None else self._sum(f"{number}/status", _HELD) or 0

    def _sum(self, path: str, pattern: re.Pattern[bytes]) -> int | None:
        try:
            with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc), "rb") as file:
                found = pattern.findall(file.read())
        except OSError:  # it has ended, or may not be looked at
            return None
        return 1024 * sum(map(int, found)) if found else None

    def end(self) -> None:
        """Kill them all, and wait until none is left.

        Raises:
            SandboxError: some are still there; the machine should be looked at.
        """
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        # The kernel ends the first process of a namespace after all others.
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        if not poll.poll(END_WAIT_S * 1000):
            raise SandboxError(f"processes of a sandbox are still there {END_WAIT_S:.0f} s after they were killed")

    def close(self) -> None:
        """Let go of the handles."""
        os.close(self._handle)
        os.close(self._proc)


def _own_proc(first: int) -> int:
    """The sandbox's /proc, once its first process has its last root; until then it sees the machine's, or none."""
    machines, until = os.stat("/proc").st_dev, time.monotonic() + SETUP_WAIT_S
    reason = "no answer"
    while time.monotonic() < until:
        try:
            # Is in no root but its last one, see `bubblewrap.options_for`.
            os.stat(f"/proc/{first}/root{WORKSPACE}")
            found = os.open(f"/proc/{first}/root/proc", os.O_RDONLY | os.O_DIRECTORY)
            if os.fstat(found).st_dev != machines and os.access("1", os.F_OK, dir_fd=found):
                return found
            os.close(found)
        except ProcessLookupError:
            break
        except OSError as error:
            reason = error.strerror or reason
            if not os.path.exists(f"/proc/{first}"):
                break
        time.sleep(_LOOK_AGAIN_S)
    raise SandboxError(f"the sandbox cannot be looked into: {reason}")
