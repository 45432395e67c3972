"""The digest of a sandbox: the same wherever it runs, another where something else is allowed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pipeline.errors import SandboxError
from pipeline.formats.canonical_json import canonical_json
from pipeline.sandbox import Driver, SandboxedCommand, SandboxLimits, SandboxProfile, profile_of
from pipeline.sandbox.seccomp import filter_program

PLAIN = SandboxedCommand(("true",), Path("/a"))
ALLOWED = {"ASSAY_UNSAFE_NO_SANDBOX": "1"}
HERE = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def profile(command: SandboxedCommand = PLAIN) -> SandboxProfile:
    try:
        return profile_of(command, Driver.NATIVE, HERE)
    except SandboxError as error:
        pytest.skip(str(error))


def test_the_digest_is_that_of_the_canonical_json() -> None:
    found = profile()
    body = canonical_json(found.model_dump(mode="json"))
    assert found.sha256 == hashlib.sha256(body).hexdigest()


def test_the_profile_holds_what_is_in_effect() -> None:
    found = profile()
    assert (found.driver, found.network, found.user_id) == (Driver.NATIVE, "none", 60123)
    assert found.limits == SandboxLimits()
    assert found.seccomp_sha256 == hashlib.sha256(filter_program()).hexdigest()
    assert found.tool is not None
    assert found.tool.name == "bubblewrap"
    written = [mount.target for mount in found.mounts if mount.is_writable]
    assert written == ["/dev/shm", "/home/sandbox", "/tmp", "/workspace"]
    assert "TMPDIR" in found.environment


def test_neither_the_place_nor_the_command_changes_the_digest() -> None:
    other = SandboxedCommand(("false", "x"), Path("/elsewhere/b"), timeout_s=3.0, keep_changes=True)
    assert profile(other).sha256 == profile().sha256


@pytest.mark.parametrize(
    "settings",
    [
        {"network_hosts": ("example.com",)},
        {"limits": SandboxLimits(processes=7)},
        {"limits": SandboxLimits(memory_bytes=2**30)},
        {"tools": (Path("/opt/kit"),)},
    ],
)
def test_what_is_allowed_changes_the_digest(settings: dict[str, object]) -> None:
    assert profile(PLAIN._replace(**settings)).sha256 != profile().sha256


def test_the_order_of_hosts_does_not() -> None:
    one, two = (
        PLAIN._replace(network_hosts=hosts) for hosts in (("a.example", "b.example"), ("b.example", "a.example"))
    )
    assert profile(one).sha256 == profile(two).sha256


def test_none_is_recorded_as_none() -> None:
    found = profile_of(PLAIN, Driver.NONE, ALLOWED)
    assert (found.driver.value, found.network, found.limits, found.seccomp_sha256) == ("none", "open", None, None)
    assert found.sha256 == profile_of(PLAIN._replace(workspace=Path("/b")), Driver.NONE, ALLOWED).sha256
