"""The first process of a sandbox: lays out its folders in a file system of its own size, then becomes bubblewrap.

A process of its own, started without site packages, so that a process with threads need not fork. What it mounts lives
in its own namespace and goes when the last process goes, however that ends.

Every command waits for it: it imports no module of the standard library that is dear (json, socket and typing take
longer than bubblewrap). What it is told comes from the same Python, by `marshal`; what it answers is plain text.

    python -I -S -c 'import launcher; launcher.main()' CONTROL_FD ORDER_FD      (see `native`)
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import sys
from _socket import SCM_RIGHTS, SOL_SOCKET, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_SLAVE = 0x2, 0x4, 0x1000, 0x4000, 0x80000
_ALL_DESCRIPTORS = 65536  # more than any that are handed down
_INT_BYTES = 4  # a descriptor, as the kernel passes it on
_ORDER_BYTES = 4096
_WRITABLE = ("workspace", "tmp", "home", "shm")
_EMPTY = ("etc", "proxy", "tools")


def main() -> None:
    """Take the order, lay out, hand over the folder, wait for the word, become bubblewrap."""
    control, order = socket(fileno=int(sys.argv[1])), _order(int(sys.argv[2]))
    try:
        _enter_namespaces()
        _lay_out(order)
        root = os.open(order["mount_point"], os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        control.send(f"{error.strerror}: {error.filename or 'namespaces'}".encode())
        sys.exit(1)
    control.sendmsg([b"!"], [(SOL_SOCKET, SCM_RIGHTS, root.to_bytes(_INT_BYTES, sys.byteorder))])
    if control.recv(1) != b"!":  # the one who asked is gone, or has changed its mind
        sys.exit(1)
    if order["drop_to"] is not None:
        os.setgroups([])
        os.setresgid(*[order["drop_to"]] * 3)
        os.setresuid(*[order["drop_to"]] * 3)
    os.chdir("/")
    if os.fork() == 0:
        _bound_the_first(control)
    control.close()
    os.execve(order["program"], order["argv"], {})


def _bound_the_first(control: socket) -> None:
    """Set the limits of the sandbox's first process, once there is one, and end.

    Only the sandbox's own user may do so where root is without CAP_SYS_RESOURCE. It is not done before: a number of
    processes counts in the namespace of users that the process is in, and that one is bubblewrap's to make.
    """
    # All others belong to the sandbox, and those who read from them wait for their end.
    os.closerange(0, control.fileno())
    os.closerange(control.fileno() + 1, _ALL_DESCRIPTORS)
    answer = b"!"
    try:
        told = control.recv(_ORDER_BYTES)
        process, bounds = marshal.loads(told) if told else (0, ())
        for kind, most in bounds:
            hard = resource.prlimit(process, kind)[1]
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(process, kind, (least, least))
    except OSError as error:
        answer = (error.strerror or "no reason").encode()
    control.send(answer)
    os._exit(0)


def _order(found: int) -> Any:
    with open(found, "rb") as file:
        file.seek(0)
        return marshal.load(file)


def _enter_namespaces() -> None:
    """Root needs no namespace of users; anybody else becomes the owner of one, as the same user."""
    user, group = os.getuid(), os.getgid()
    _called("unshare", _NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USER)
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    # What is mounted here is not seen outside.
    _called("mount", None, b"/", None, _MS_REC | _MS_SLAVE, None)


def _lay_out(order: Any) -> None:
    place = order["mount_point"]
    # Opened before the file system covers what may lie beneath it.
    tools = [os.open(tool, os.O_PATH | os.O_DIRECTORY) for tool in order["tools"]]
    program = {name: _bytes_of(source) for name, source in order["program_files"].items()}
    options = f"size={order['disk_bytes']},nr_inodes={order['files']},mode=0755".encode()
    _called("mount", b"tmpfs", os.fsencode(place), b"tmpfs", _MS_NOSUID | _MS_NODEV, options)
    for name in (*_WRITABLE, *_EMPTY):
        os.mkdir(f"{place}/{name}", 0o755)
    for name, text in order["files_of_etc"].items():
        _put(f"{place}/etc/{name}", text)
    for name, is_folder in order["places_in_etc"].items():
        if is_folder:
            os.makedirs(f"{place}/etc/{name}", 0o755)
        else:
            _put(f"{place}/etc/{name}", "")
    for number, tool in enumerate(tools):
        os.mkdir(f"{place}/tools/{number}")
        # Bound here, since the user that bubblewrap runs as may not get there by the path.
        _called("mount", f"/proc/self/fd/{tool}".encode(), f"{place}/tools/{number}".encode(), None, _MS_BIND, None)
        os.close(tool)
    for name, data in program.items():
        os.makedirs(os.path.dirname(f"{place}/program/{name}"), 0o755, exist_ok=True)
        with open(f"{place}/program/{name}", "wb") as file:
            file.write(data)
        os.chmod(f"{place}/program/{name}", 0o755)
    if order["drop_to"] is not None:
        for name in _WRITABLE:
            os.chown(f"{place}/{name}", order["drop_to"], order["drop_to"])


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _put(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o644)


def _called(name: str, *arguments: Any) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        target = next((os.fsdecode(each) for each in arguments if isinstance(each, bytes)), name)
        raise OSError(number, f"{name}: {os.strerror(number)}", target)
