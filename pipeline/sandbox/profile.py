"""What a sandbox allows, as a value that can be written down and compared. Holds no path of the machine it ran on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.records.base import Record
from pipeline.records.digest import Sha256, digest_bytes, digest_json
from pipeline.sandbox.command import SandboxedCommand
from pipeline.sandbox.drivers import Driver, check_driver, find_bubblewrap
from pipeline.sandbox.limits import SandboxLimits
from pipeline.sandbox.seccomp import filter_program

WORKSPACE = "/workspace"
HOME = "/home/sandbox"
PROXY_FOLDER = "/run/assay"
PROXY_SOCKET = "proxy.sock"
PROXY_PORT = 3128
USER_ID = 60123  # of nobody else: neither of a person nor of a service
HOST_NAME = "sandbox"
SYSTEM_FOLDERS = ("/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin")
SYSTEM_FILES = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl", "ca-certificates", "localtime")
"""Of /etc. All else there is about the machine and its people; a few files of our own stand in for it."""


class Mount(Record):
    """One folder as the command sees it."""

    target: str
    source: str
    """A folder of the machine, or the name of one of the sandbox's own, such as `workspace`."""
    is_writable: bool = False


class Tool(Record):
    """What carries out the isolation."""

    name: str
    version: str


class SandboxProfile(Record):
    """What is in effect for a command. Equal digests: the same isolation."""

    driver: Driver
    network: Literal["none", "hosts", "open"]
    network_hosts: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    user_id: int | None = None
    """None: that of the caller."""
    limits: SandboxLimits | None = None
    """None: none."""
    seccomp_sha256: Sha256 | None = None
    tool: Tool | None = None

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON: what sessions record as `sandbox_hash`."""
        return digest_json(self.model_dump(mode="json"))


def profile_of(command: SandboxedCommand, driver: Driver, environment: Mapping[str, str]) -> SandboxProfile:
    """What would be in effect for a command here.

    Raises:
        SandboxError: the driver cannot be had here.
    """
    check_driver(driver, environment)
    if driver is Driver.NONE:
        return SandboxProfile(driver=driver, network="open")
    return SandboxProfile(
        driver=driver,
        network="hosts" if command.network_hosts else "none",
        network_hosts=tuple(sorted(command.network_hosts)),
        mounts=_mounts(command),
        environment=inner_environment(command),
        user_id=USER_ID,
        limits=command.limits,
        seccomp_sha256=digest_bytes(filter_program()),
        tool=Tool(name="bubblewrap", version=find_bubblewrap(environment).version),
    )


def inner_environment(command: SandboxedCommand) -> dict[str, str]:
    """All variables that the command finds."""
    tools = [f"{tool}/bin" for tool in command.tools]
    variables = {
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "PATH": ":".join([*tools, "/usr/local/bin", "/usr/bin", "/bin"]),
        "PWD": WORKSPACE,
        "TMPDIR": "/tmp",
    }
    if command.network_hosts:
        proxy = f"http://127.0.0.1:{PROXY_PORT}"
        variables |= dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), proxy)
    return variables


def _mounts(command: SandboxedCommand) -> tuple[Mount, ...]:
    own = [
        Mount(target=WORKSPACE, source="workspace", is_writable=True),
        Mount(target="/tmp", source="tmp", is_writable=True),
        Mount(target=HOME, source="home", is_writable=True),
        Mount(target="/dev/shm", source="shm", is_writable=True),
        Mount(target="/etc", source="etc"),
        Mount(target="/dev", source="dev"),
        Mount(target="/proc", source="proc"),
    ]
    if command.network_hosts:
        own.append(Mount(target=PROXY_FOLDER, source="proxy"))
    read = ["/usr", *system_folders(), *(str(tool) for tool in command.tools)]
    return tuple(sorted([*own, *(Mount(target=each, source=each) for each in read)], key=lambda mount: mount.target))


def system_folders() -> Sequence[str]:
    """Those beside /usr that are folders of their own here, and not links into it."""
    return [folder for folder in SYSTEM_FOLDERS if Path(folder).is_dir() and not os.path.islink(folder)]
