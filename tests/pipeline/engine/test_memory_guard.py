"""A process that holds more than it may ends itself, says why, and counts what its children hold."""

from __future__ import annotations

import subprocess
import sys
import threading

from pipeline.engine.memory_guard import EXIT_STATUS, memory_in_use, start_memory_guard

MIB = 1 << 20
HOLDING = "held = bytearray({n}); held[::4096] = b'x' * len(held[::4096]); print('held', flush=True); input()"


def holding(n_bytes: int) -> subprocess.Popen[str]:
    """A process that has written to so many bytes."""
    command = [sys.executable, "-c", HOLDING.format(n=n_bytes)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_what_children_hold_counts_as_ones_own():
    holder = HOLDING.format(n=200 * MIB)
    parent = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {holder!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\nprint('held', flush=True)\ninput()\nchild.communicate(b'\\n')\n"
        "print('let go', flush=True)\ninput()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        during = memory_in_use(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "let go\n"
        after = memory_in_use(process.pid)
        process.communicate("\n")
    assert during - after > 190 * MIB
    assert after < 100 * MIB


def test_a_process_that_has_ended_holds_nothing():
    with holding(1) as child:
        child.communicate("\n")
    assert memory_in_use(child.pid) == 0


def test_a_process_above_its_bound_ends_with_the_reason():
    script = (
        "from pipeline.engine.memory_guard import start_memory_guard\n"
        f"start_memory_guard({150 * MIB}, lambda reason: print('told:', reason, flush=True))\n"
        "held = [bytearray(b'x' * 1048576) for _ in range(400)]\nimport time\ntime.sleep(60)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert ended.returncode == EXIT_STATUS
    assert "was ended at its bound of 150 MiB (memory_limit): a row or a function of yours needs more" in ended.stderr
    assert ended.stdout.startswith("told: the worker held")


def test_a_reason_that_cannot_be_told_does_not_keep_the_process_alive():
    ended = threading.Event()

    def refuse(reason: str) -> None:
        raise OSError(reason)

    seen: list[int] = []

    def end(status: int) -> None:
        seen.append(status)
        ended.set()

    start_memory_guard(1, refuse, poll_s=0.01, end=end)
    assert ended.wait(30)
    assert seen == [EXIT_STATUS]


def test_below_its_bound_nothing_happens_and_a_guard_can_be_stopped():
    seen: list[int] = []
    stopped = start_memory_guard(1 << 50, print, poll_s=0.01, end=seen.append)
    assert not stopped.wait(0.2)
    stopped.set()
    assert not seen
