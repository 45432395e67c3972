"""What becomes of a command: how it ends, what is kept of it, what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from attack import survivors

from pipeline.errors import InputError, SandboxError, WorkspaceError
from pipeline.sandbox import CommandOutcome, Driver, Ended, SandboxedCommand, SandboxLimits, run_sandboxed
from pipeline.sandbox.native import run_native

Shell = Callable[..., CommandOutcome]


@pytest.mark.parametrize("status", [0, 1, 3, 127, 128, 200, 255])
def test_an_exit_status_is_told(shell: Shell, status: int) -> None:
    outcome = shell(f"echo said; exit {status}")
    assert (outcome.ended, outcome.exit_status, outcome.signal) == (Ended.EXITED, status, None)
    assert outcome.output == b"said\n"
    assert outcome.is_success == (status == 0)


@pytest.mark.parametrize("number", [6, 9, 15])
def test_a_signal_is_told(shell: Shell, number: int) -> None:
    outcome = shell(f"kill -{number} $$")
    assert (outcome.ended, outcome.exit_status, outcome.signal) == (Ended.SIGNALLED, None, number)


def test_a_deadline_ends_it_and_what_it_said_before_is_kept(shell: Shell) -> None:
    outcome = shell("echo begun; sleep 100", timeout_s=0.5)
    assert outcome.ended is Ended.TIMED_OUT
    assert outcome.reason == "it was stopped after 0.5 s"
    assert outcome.output == b"begun\n"
    assert 0.5 <= outcome.duration_s < 10


@pytest.mark.parametrize(
    "argv, reason",
    [(("nowhere",), "No such file"), (("./plain",), "Permission denied"), (("./broken",), "No such file")],
)
def test_a_program_that_cannot_be_started_is_told_from_one_that_fails(
    sandbox: None, tmp_path: Path, argv: tuple[str, ...], reason: str
) -> None:
    (tmp_path / "plain").write_text("no program")
    (tmp_path / "broken").write_text("#!/nowhere\n")
    (tmp_path / "broken").chmod(0o755)
    outcome = run_sandboxed(SandboxedCommand(argv, tmp_path))
    assert outcome.ended is Ended.COULD_NOT_START
    assert argv[0] in outcome.reason
    assert reason in outcome.reason


def test_a_program_cannot_pretend_that_it_was_not_started(shell: Shell) -> None:
    outcome = shell("echo 'bwrap: execvp sh: No such file or directory' >&2; exit 1")
    assert (outcome.ended, outcome.exit_status) == (Ended.EXITED, 1)


def test_the_workspace_is_a_copy_unless_changes_are_kept(shell: Shell, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "old").write_text("old")
    assert shell("rm old; echo new > new; mkdir -p a/b; ln -s new link").is_success
    assert sorted(os.listdir(tree)) == ["old"]
    assert shell("rm old; echo new > new; mkdir -p a/b; ln -s new link; chmod +x new", keep_changes=True).is_success
    assert sorted(os.listdir(tree)) == ["a", "link", "new"]
    assert (tree / "new").read_text() == "new\n"
    assert os.access(tree / "new", os.X_OK)
    assert os.readlink(tree / "link") == "new"


def test_of_much_output_the_beginning_and_the_end_are_kept(shell: Shell) -> None:
    outcome = shell("echo first; seq 100000; echo last", max_output_bytes=4000)
    assert outcome.is_cut
    assert outcome.output.startswith(b"first\n1\n2\n")
    assert outcome.output.endswith(b"\n100000\nlast\n")
    assert b"bytes left out" in outcome.output
    assert len(outcome.output) < 4100


def test_output_that_just_fits_is_whole(shell: Shell) -> None:
    outcome = shell("printf %04000d 7", max_output_bytes=4000)
    assert (outcome.is_cut, len(outcome.output)) == (False, 4000)


def test_both_streams_are_in_the_order_of_writing(shell: Shell) -> None:
    assert shell("echo a; echo b >&2; echo c").output == b"a\nb\nc\n"


def test_there_is_nothing_to_read(shell: Shell) -> None:
    assert shell("cat; test -t 0 || echo none").output == b"none\n"


def test_it_is_somebody_without_rights_in_a_folder_of_its_own(shell: Shell) -> None:
    said = shell("id -u; pwd; hostname; echo $HOME; whoami; touch here ~/there /tmp/x && echo wrote").text.split()
    assert said == ["60123", "/workspace", "sandbox", "/home/sandbox", "sandbox", "wrote"]


def test_a_tool_outside_of_usr_is_found(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "kit" / "bin" / "greet"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    tmp_path.chmod(0o700)  # what lies above it may be closed
    assert shell("greet", tools=(tmp_path / "kit",)).output == b"hello\n"


def test_a_workspace_that_does_not_fit_is_refused_by_name(sandbox: None, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (3 << 20))
    command = SandboxedCommand(("true",), tmp_path, limits=SandboxLimits(disk_bytes=2 << 20))
    with pytest.raises(WorkspaceError, match=r"does not fit into the sandbox's 2,097,152 bytes"):
        run_sandboxed(command)


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"argv": ()}, "begins with a program"),
        ({"argv": ("",)}, "begins with a program"),
        ({"argv": "make test"}, "begins with a program"),
        ({"argv": ("echo", "a\0b")}, "NUL"),
        ({"argv": ("echo", "x" * 130_000)}, "longer than"),
        ({"timeout_s": 0.0}, "more than 0"),
        ({"timeout_s": float("nan")}, "more than 0"),
        ({"network_hosts": ("not a host",)}, "network host 'not a host'"),
        ({"tools": (Path("relative"),)}, "absolute path"),
        ({"workspace": Path("/nowhere")}, "is no folder"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(tmp_path: Path, settings: dict[str, object], said: str) -> None:
    command = SandboxedCommand(("true",), tmp_path)._replace(**settings)
    with pytest.raises((InputError, WorkspaceError), match=said):
        run_sandboxed(command, driver=Driver.NONE, environment={"ASSAY_UNSAFE_NO_SANDBOX": "1"})


def test_several_at_once_have_limits_of_their_own(sandbox: None, tmp_path: Path) -> None:
    """Each has 40 of 64 processes; counted together, they would be too many."""
    command = SandboxedCommand(
        ("sh", "-c", "for i in $(seq 40); do sleep 0.5 & done; wait; echo done"),
        tmp_path,
        limits=SandboxLimits(processes=64),
    )
    outcomes: list[CommandOutcome] = []
    threads = [threading.Thread(target=lambda: outcomes.append(run_sandboxed(command))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome.text for outcome in outcomes] == ["done\n"] * 4


def test_descriptors_and_folders_are_given_back(shell: Shell) -> None:
    shell("true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        shell("true", network_hosts=("example.com",))
        shell("nowhere")
    assert len(os.listdir("/proc/self/fd")) == before


PROGRAM = """
import sys
from pathlib import Path
from pipeline.sandbox import SandboxedCommand, run_sandboxed, workspace_copy
program = "import subprocess, sys, time; subprocess.Popen(['setsid', 'sleep', '300']); time.sleep(300)"
with workspace_copy(Path(sys.argv[1])) as copy:
    run_sandboxed(SandboxedCommand(("python3", "-c", program, sys.argv[2]), copy.path))
"""


def test_a_killed_harness_leaves_no_process_and_its_folders_go_with_the_next(sandbox: None, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    mark, place = f"mark-{os.getpid()}", tmp_path / "temporary"
    place.mkdir()
    harness = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "tree"), mark], env=os.environ | {"TMPDIR": str(place)}
    )
    assert _soon(lambda: len(survivors(mark)) >= 3)
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    assert _soon(lambda: not survivors(mark))
    assert os.listdir(place)
    swept = "from pipeline.sandbox import sweep_workspaces as s; print(len(s(apply=False)), len(s(apply=True)))"
    said = subprocess.run(
        [sys.executable, "-c", swept], env=os.environ | {"TMPDIR": str(place)}, capture_output=True, check=True
    )
    assert said.stdout == b"1 1\n"
    assert os.listdir(place) == []


def _soon(is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if is_so():
            return True
        time.sleep(0.05)
    return False


def test_without_namespaces_nothing_is_run(sandbox: None, tmp_path: Path) -> None:
    """bubblewrap that fails, as it does where a container forbids it."""
    place = tmp_path / "bin"
    place.mkdir()
    fake = place / "bwrap"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.0.1 && exit\n'
        "echo 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    fake.chmod(0o755)
    tree = tmp_path / "tree"
    tree.mkdir()
    with pytest.raises(SandboxError, match=r"(?s)No permissions to create new namespace.*nothing was run"):
        run_native(SandboxedCommand(("true",), tree), {"PATH": f"{place}:/usr/bin:/bin"})
