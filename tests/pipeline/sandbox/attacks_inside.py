"""Attacks by a program in the sandbox, as data: group, name, what it does, how it may end."""

# ruff: noqa: E501 - one attack a line

from __future__ import annotations

import platform
import socket
import time

from attack import LIMITS, Attack, Ground, inside, survivors

from pipeline.sandbox import CommandOutcome, Ended
from pipeline.sandbox.seccomp import ABSENT, REFUSED

_COLUMN = 0 if platform.machine() == "x86_64" else 1
_OVER = (Ended.EXITED, Ended.SIGNALLED)
_MUCH = (Ended.EXITED, Ended.SIGNALLED, Ended.OUT_OF_MEMORY)


def _number(name: str) -> int:
    found = (REFUSED | ABSENT)[name][_COLUMN]
    return -1 if found is None else found


FILES = {
    "read a file of the machine": "return readable('@SECRET_FILE')",
    "read the machine's passwords": "return readable('/etc/shadow')",
    "read who uses the machine": "return b'root:x:0:0:root' in readable('/etc/passwd') or os.path.exists('/etc/hostname')",
    "read root's home": "return [name for name in os.listdir('/root') if not sys.base_prefix.startswith('/root/' + name)]",
    "read other homes": "return [name for name in os.listdir('/home') if name != 'sandbox']",
    "read another tree in the temporary folder": "return os.listdir('/tmp') or os.listdir('@HERE')",
    "climb out with ..": "return readable('/workspace' + '/..' * 20 + '@SECRET_FILE')",
    "follow a link of its own": "os.symlink('@SECRET_FILE', 'link'); return readable('link')",
    "write to /usr": "open('/usr/bin/planted', 'w'); return True",
    "write to /etc": "open('/etc/passwd', 'a'); return True",
    "write to the root": "open('/planted', 'w'); return True",
    "write to /dev, which has no size": "open('/dev/planted', 'w'); return True",
    "write to a tool's folder": "open(sys.base_prefix + '/planted', 'w'); return True",
    "hard link out of /usr": "os.link(os.path.realpath('/usr/bin/env'), '/workspace/env'); return True",
    "hard link into another mount": "open('/tmp/a', 'w'); os.link('/tmp/a', '/usr/a'); return True",
    "leave a changed workspace to the next command": "open('honest.txt', 'w').write('changed'); return False",
    "look at the machine's devices": (
        "usual = {'console','core','fd','full','null','ptmx','pts','random','shm','stderr','stdin','stdout','tty','urandom','zero'}\n"
        "return set(os.listdir('/dev')) - usual"
    ),
    "make a device node": "os.mknod('disk', 0o660 | 0o060000, os.makedev(254, 0)); return readable('disk')",
    "make a node of memory": "os.mknod('/tmp/mem', 0o666 | 0o020000, os.makedev(1, 1)); return readable('/tmp/mem')",
    "open the console": "return os.open('/dev/console', os.O_RDWR)",
    "a program that runs as its owner": "return 'uid=0' in subprocess.run(['su', '-c', 'id'], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout",
    "use the descriptors of others": (
        "for name in os.listdir('/proc/self/fd'):\n"
        "    if int(name) > 2 and os.path.exists('/proc/self/fd/' + name):\n"
        "        target = os.readlink('/proc/self/fd/' + name)\n"
        "        if not target.startswith('/proc/'):\n"
        "            return target\n"
        "return False"
    ),
}

PROC = {
    "the root of process 1": "return readable('/proc/1/root@SECRET_FILE')",
    "the roots of all processes": (
        "return [p for p in glob.glob('/proc/[0-9]*/root') + glob.glob('/proc/[0-9]*/cwd') if os.path.exists(p + '@SECRET_FILE')]"
    ),
    "environments of all processes": "return [p for p in glob.glob('/proc/[0-9]*/environ') if b'@SECRET' in readable(p) or b'ASSAY' in readable(p)]",
    "its own environment": "return [name for name in os.environ if name not in ('HOME','LANG','PATH','PWD','TMPDIR','LC_CTYPE')]",
    "paths of the machine in command lines": "return [p for p in glob.glob('/proc/[0-9]*/cmdline') if b'bwrap' in readable(p) and {b'--bind', b'--setenv'} & set(readable(p).split(b'\\0'))]",
    "processes of the machine": "return os.path.exists('/proc/@VICTIM/status') and b'sleep' in readable('/proc/@VICTIM/status')",
    "memory of process 1": "file = open('/proc/1/mem', 'r+b', 0); file.seek(0x1000); return file.write(b'x')",
    "the kernel's memory": "return readable('/proc/kcore')",
    "the kernel's messages": "return os.open('/proc/kmsg', os.O_RDONLY | os.O_NONBLOCK)",
    "the kernel's keys": "return put('/proc/sysrq-trigger', 'h')",
    "what is run at a crash": "return put('/proc/sys/kernel/core_pattern', '|/bin/sh')",
    "settings of the kernel": "return put('/proc/sys/vm/overcommit_memory', '1')",
    "settings of its own namespaces": "return put('/proc/sys/kernel/shmmax', '1')",
    "who is spared when memory runs out": "return put('/proc/self/oom_score_adj', '-1000')",
    "control groups": "return os.listdir('/sys/fs/cgroup')",
    "its map of users": "return put('/proc/self/uid_map', '0 0 1')",
}

NETWORK = {
    "a server of the machine, by its loopback": "return socket.create_connection(('127.0.0.1', @PORT), 2).recv(99)",
    "the same by IPv6": "return socket.create_connection(('::1', @PORT), 2).recv(99)",
    "the same by the address of nobody": "return socket.create_connection(('0.0.0.0', @PORT), 2).recv(99)",
    "a server of the machine, by its own address": "return socket.create_connection(('@ADDRESS', @PORT), 2).recv(99)",
    "a server elsewhere": "return socket.create_connection(('192.0.2.1', 80), 2)",
    "the metadata of a cloud": "return socket.create_connection(('169.254.169.254', 80), 2)",
    "a name": "return socket.getaddrinfo('example.com', 80)",
    "a datagram to a server of names": "return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.53', 53))",
    "a broadcast": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(1, 6, 1); return s.sendto(b'x', ('255.255.255.255', 9))",
    "an abstract Unix socket": "s = socket.socket(socket.AF_UNIX); s.connect('\\0@ABSTRACT'); return True",
    "a Unix socket of the machine": "s = socket.socket(socket.AF_UNIX); s.connect('@HERE/others/socket'); return True",
    "interfaces besides its own loopback": "return [name for _, name in socket.if_nameindex() if name != 'lo']",
    "a netlink socket": "return socket.socket(16, socket.SOCK_RAW, 0)",
    "a packet socket": "return socket.socket(17, socket.SOCK_RAW, 0)",
    "a raw socket": "return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "a socket of virtual machines": "return socket.socket(40, socket.SOCK_STREAM, 0)",
    "a socket of the kernel's ciphers": "return socket.socket(38, socket.SOCK_SEQPACKET, 0)",
    "a Bluetooth socket": "return socket.socket(31, socket.SOCK_RAW, 0)",
}

_ASK = """
def ask(*lines, over='tcp'):
    if over == 'unix':
        s = socket.socket(socket.AF_UNIX); s.connect('/run/assay/proxy.sock')
    else:
        s = socket.create_connection(('127.0.0.1', 3128), 5)
    s.settimeout(5)
    s.sendall('\\r\\n'.join(lines + ('', '')).encode())
    found = b''
    while True:
        piece = s.recv(4096)
        if not piece:
            return found.replace(b'@SECRET', b'WORD')
        found += piece
"""
PROXY = {
    "past it, to an allowed host": ("return socket.create_connection(('127.0.0.1', @PORT), 2)", "127.0.0.1:@PORT"),
    "another port of an allowed host": ("return b'WORD' in ask('GET http://127.0.0.1:@PORT/ HTTP/1.1')", "127.0.0.1:1"),
    "a tunnel to a host that is not allowed": ("return b' 200 ' in ask('CONNECT 127.0.0.1:@PORT HTTP/1.1')", "example.com"),
    "the same over its Unix socket": ("return b' 200 ' in ask('CONNECT 127.0.0.1:@PORT HTTP/1.1', over='unix')", "example.com"),
    "an older form of an address": ("return b'WORD' in ask('GET http://127.1:@PORT/ HTTP/1.1')", "example.com:@PORT"),
    "a number for an address": ("return b'WORD' in ask('GET http://2130706433:@PORT/ HTTP/1.1')", "2130706433:@PORT"),
    "a name for this machine": ("return b'WORD' in ask('GET http://@NAME:@PORT/ HTTP/1.1')", "@NAME:@PORT"),
    "an address in IPv6's clothes": ("return b'WORD' in ask('GET http://[::ffff:127.0.0.1]:@PORT/ HTTP/1.1')", "example.com:@PORT"),
    "a user before the host": ("return b'WORD' in ask('GET http://example.com@127.0.0.1:@PORT/ HTTP/1.1')", "example.com:@PORT"),
    "another host in the header": ("return b'WORD' in ask('GET / HTTP/1.1', 'Host: 127.0.0.1:@PORT')", "127.0.0.1:@PORT"),
    "a second request behind the first": (
        "ask('GET http://127.0.0.1:@PORT/ HTTP/1.1', '', 'GET http://other.example/smuggled HTTP/1.1'); return False", "127.0.0.1:@PORT",
    ),
    "a body of unknown length": ("return b'WORD' in ask('POST http://127.0.0.1:@PORT/ HTTP/1.1', 'Transfer-Encoding: chunked')", "127.0.0.1:@PORT"),
    "a head without an end": ("return b'WORD' in ask('GET http://127.0.0.1:@PORT/ HTTP/1.1', 'X: ' + 'x' * 100000)", "127.0.0.1:@PORT"),
    "another protocol": ("return b'WORD' in ask('GET ftp://127.0.0.1:@PORT/ HTTP/1.1')", "127.0.0.1:@PORT"),
}  # fmt: skip

CALLS = {
    "a namespace of users": "return call(@unshare, 0x10000000) == 0",
    "a namespace of mounts": "return call(@unshare, 0x20000) == 0",
    "a namespace of the network": "return call(@unshare, 0x40000000) == 0",
    "a process in new namespaces (clone)": "pid = call(@clone, 0x10000000 | 17, 0, 0, 0, 0); os._exit(0) if pid == 0 else None; return True",
    "a process in new namespaces (clone3)": "arguments = struct.pack('<11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0); pid = call(@clone3, arguments, 88); os._exit(0) if pid == 0 else None; return True",
    "entering namespaces": "return call(@setns, os.open('/proc/1/ns/mnt', os.O_RDONLY), 0) == 0",
    "mount": "return call(@mount, b'none', b'/tmp', b'tmpfs', 0, None) == 0",
    "mount again, writable": "return call(@mount, b'none', b'/usr', None, 32 | 4096, None) == 0",
    "mount by the new calls": "return call(@fsopen, b'tmpfs', 0) >= 0",
    "open a tree of mounts": "return call(@open_tree, -100, b'/usr', 1) >= 0",
    "unmount": "return call(@umount2, b'/workspace', 2) == 0",
    "another root": "return call(@chroot, b'/tmp') == 0",
    "pivot the root": "return call(@pivot_root, b'/tmp', b'/tmp') == 0",
    "open by handle": "return call(@open_by_handle_at, 0, b'x' * 64, 0) >= 0",
    "trace a process": "return call(@ptrace, 16, os.getppid(), 0, 0) == 0",
    "be traced": "return call(@ptrace, 0, 0, 0, 0) == 0",
    "read another process's memory": "return call(@process_vm_readv, 1, None, 0, None, 0, 0) == 0",
    "take a descriptor of another process": "return call(@pidfd_getfd, os.pidfd_open(os.getppid()), 0, 0) >= 0",
    "keys of the kernel": "return call(@add_key, b'user', b'k', b'v', 1, -4) >= 0",
    "keyrings": "return call(@keyctl, 0, -4, 0, 0, 0) >= 0",
    "programs in the kernel": "return call(@bpf, 0, b'\\0' * 128, 128) >= 0",
    "counters of the processor": "return call(@perf_event_open, b'\\0' * 128, 0, -1, -1, 0) >= 0",
    "page faults of its own": "return call(@userfaultfd, 1) >= 0",
    "rings of requests (io_uring)": "return call(@io_uring_setup, 8, b'\\0' * 120) >= 0",
    "a module": "return call(@init_module, b'x', 1, b'') == 0",
    "another kernel": "return call(@kexec_load, 0, 0, None, 0) == 0",
    "a restart": "return call(@reboot, 0xfee1dead, 672274793, 0, None) == 0",
    "the clock": "return call(@settimeofday, struct.pack('<qq', 0, 0), None) == 0",
    "the host's name": "return call(@sethostname, b'x', 1) == 0",
    "swap": "return call(@swapon, b'/workspace/honest.txt', 0) == 0",
    "keys into the terminal": "return fcntl.ioctl(0, 0x5412, b'x') == 0",
    "keys into the terminal, by a wide number": "return call(@ioctl, ctypes.c_long(os.open('/dev/ptmx', os.O_RDWR)), ctypes.c_ulong(0x100005412), b'x') == 0",
    "a console's selection": "return fcntl.ioctl(0, 0x541C, b'\\x02') == 0",
    "memory of no process": "return call(@shmget, 0, 2**20, 0o1600) >= 0",
    "files of no folder": "return call(@memfd_create, b'x', 0) >= 0",
    "another user": "os.setuid(0); return True",
    "other groups": "os.setgroups([0]); return True",
    "capabilities": "return [line for line in readable('/proc/self/status').decode().splitlines() if line.startswith('Cap') and int(line.split()[1], 16)]",
    "new privileges": "return libc.prctl(39, 0, 0, 0, 0) != 1",
    "a better place in the queue": "os.setpriority(os.PRIO_PROCESS, 0, -20); return True",
    "real time": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); return True",
    "higher limits": "resource.setrlimit(resource.RLIMIT_NPROC, (10000, 10000)); return True",
}

PROCESSES = {
    "kill a process of the machine": "os.kill(@VICTIM, 9); return True",
    "kill all it can see": "os.fork() or os._exit(0); signal.signal(15, signal.SIG_IGN); os.kill(-1, 15); return False",
    "kill its parent": "os.kill(os.getppid(), 9); time.sleep(0.1); return os.getppid() != 1",
    "fork without end": (
        "n = 0\n"
        "try:\n"
        "    while n < 500:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(30); os._exit(0)\n"
        "        n += 1\n"
        "finally:\n"
        "    print('forks', n)\n"
        "return n >= 64"
    ),
    "threads without end": (
        "n = 0\n"
        "try:\n"
        "    while n < 500:\n"
        "        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
        "        n += 1\n"
        "except RuntimeError:\n"
        "    pass\n"
        "return n >= 64"
    ),
    "files open without end": "kept = []\nfor i in range(5000):\n    kept.append(open('/dev/null'))\nreturn True",
}


def _alive(mark: str):
    def judge(at: Ground, outcome: CommandOutcome) -> str:
        left = survivors(mark + at.secret)
        return f"processes {left} are still there" if left else ""

    return judge


def _limited(bound: int):
    def judge(at: Ground, outcome: CommandOutcome) -> str:
        return "" if len(outcome.output) <= bound else f"{len(outcome.output)} bytes of output were kept"

    return judge


def _unreachable(at: Ground, outcome: CommandOutcome) -> str:
    return "" if outcome.ended is Ended.TIMED_OUT else "it ended"


_SLEEP = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)', '{mark}@SECRET'], {how})"
LASTING = [
    ("a child left behind", inside(_SLEEP.format(mark="child-", how="") + "; return False", judge=_alive("child-"))),
    ("a child in a session of its own", inside(_SLEEP.format(mark="session-", how="start_new_session=True") + "; return False", judge=_alive("session-"))),
    ("a child that nobody waits for", inside("if os.fork() == 0:\n    os.setsid()\n    " + _SLEEP.format(mark="orphan-", how="") + "\n    os._exit(0)\nos.wait(); return False", judge=_alive("orphan-"))),
    ("a child that holds the output open", inside(_SLEEP.format(mark="holder-", how="stdout=1, stderr=2") + "; return False", timeout_s=30, within_s=-20, judge=_alive("holder-"))),
    ("no end, and deaf to signals", inside("[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]\n" + _SLEEP.format(mark="deaf-", how="start_new_session=True") + "\nwhile True: pass", ends=(Ended.TIMED_OUT,), timeout_s=1, judge=_alive("deaf-"))),
    ("a stopped process", inside(_SLEEP.format(mark="stopped-", how="") + "\nos.kill(os.getpid(), signal.SIGSTOP); return False", ends=(Ended.TIMED_OUT,), timeout_s=1, judge=_alive("stopped-"))),
    ("output without end", inside("while True: os.write(1, b'y' * 65536)", ends=(Ended.TIMED_OUT,), timeout_s=1, judge=_limited(2**16 + 100))),
    ("output without lines, from many", inside("for i in range(8):\n    if os.fork() == 0:\n        while True: os.write(2, b'\\0' * 65536)\ntime.sleep(60); return False", ends=(Ended.TIMED_OUT,), timeout_s=1, judge=_limited(2**16 + 100))),
]  # fmt: skip

MEMORY = [
    ("of one process", inside("x = bytearray(1 << 30); return len(x)", ends=_MUCH)),
    ("of many processes", inside("for i in range(8):\n    if os.fork() == 0:\n        x = bytearray(100 << 20); time.sleep(60); os._exit(0)\ntime.sleep(20); return True", ends=(Ended.OUT_OF_MEMORY,))),
    ("that is shared and has no file", inside("import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1\nreturn True", ends=_MUCH)),
    ("of a process that moved away", inside("if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        x = bytearray(1 << 30); time.sleep(60)\n    os._exit(0)\ntime.sleep(20); return True", ends=(Ended.OUT_OF_MEMORY,))),
    ("in /dev/shm", inside("for i in range(64):\n    open(f'/dev/shm/{i}', 'wb').write(b'x' * (16 << 20))\nreturn True")),
    ("of its address space", inside("import mmap\nm = [mmap.mmap(-1, 1 << 30) for _ in range(64)]; return True", ends=_MUCH)),
]  # fmt: skip

_FILL = "n = 0\nfor i in range(64):\n    n += open(f'{place}/{{i}}', 'wb').write(b'x' * (16 << 20))\nreturn True"
DISK = [
    ("fill the workspace", inside(_FILL.format(place="/workspace"))),
    ("fill the temporary folder", inside(_FILL.format(place="/tmp"))),
    ("fill home", inside(_FILL.format(place="/home/sandbox"))),
    ("fill all of them at once", inside("for place in ('/workspace', '/tmp', '/dev/shm', '/home/sandbox'):\n    open(place + '/f', 'wb').write(b'x' * (24 << 20))\nreturn True")),
    ("one large file", inside("signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nfile = open('large', 'wb')\nfor i in range(64): file.write(b'x' * (1 << 20))\nreturn True", ends=_OVER)),
    ("a file with a hole", inside("signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nfile = open('large', 'wb'); file.truncate(1 << 40); return True", ends=_OVER)),
    ("empty files without end", inside("for i in range(20000): open(f'/tmp/{i}', 'w').close()\nreturn True")),
    ("folders in folders", inside("for i in range(20000):\n    os.mkdir('d'); os.chdir('d')\nreturn True")),
]  # fmt: skip


def _not_smuggled(at: Ground, outcome: CommandOutcome) -> str:
    return "the second request arrived" if any("smuggled" in text for text in at.heard) else ""


def _nobody_listens(at: Ground) -> str:
    """A server in the sandbox, tried from outside while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tried: list[bool] = []

    def judge(_: Ground, outcome: CommandOutcome) -> str:
        return "" if outcome.ended is Ended.EXITED else outcome.reason

    import threading

    def knock() -> None:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            with socket.socket() as client:
                client.settimeout(0.2)
                tried.append(client.connect_ex(("127.0.0.1", port)) == 0)
            time.sleep(0.02)

    thread = threading.Thread(target=knock)
    thread.start()
    body = f"s = socket.create_server(('0.0.0.0', {port})); s.settimeout(1); return s.accept()"
    found = inside(body, judge=judge)(at)
    thread.join()
    return found or ("the machine reached a port of the sandbox" if any(tried) else "")


def _other_words() -> Attack:
    """The machine's 32-bit calls, which have numbers of their own: on x86-64 the filter ends who makes one."""
    code = "b8 14 00 00 00 cd 80 c3"  # mov eax, getpid of i386; int 0x80; ret
    body = (
        f"import mmap\nm = mmap.mmap(-1, 4096, prot=7); m.write(bytes.fromhex({code!r}))\n"
        "at = ctypes.addressof(ctypes.c_char.from_buffer(m))\nreturn ctypes.CFUNCTYPE(ctypes.c_long)(at)()"
    )
    return Attack("calls", "calls by the numbers of 32 bits", inside(body, ends=(Ended.SIGNALLED,)))


def _with_numbers(body: str) -> str:
    for name in sorted({*REFUSED, *ABSENT}, key=len, reverse=True):
        body = body.replace(f"@{name}", str(_number(name)))
    return body.replace("@clone", str((56, 220)[_COLUMN])).replace("@ioctl", str((16, 29)[_COLUMN]))


def _named(text: str) -> str:
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        address = "127.0.0.1"
    return text.replace("@NAME", name).replace("@ADDRESS", address)


ATTACKS_INSIDE = [
    *(Attack("files", name, inside(body)) for name, body in FILES.items()),
    *(Attack("proc", name, inside(body)) for name, body in PROC.items()),
    *(Attack("network", name, inside(_named(body))) for name, body in NETWORK.items()),
    Attack("network", "a server in the sandbox", _nobody_listens),
    *(
        Attack("proxy", name, inside(_ASK + _named(body), hosts=(_named(host),), judge=_not_smuggled))
        for name, (body, host) in PROXY.items()
    ),
    *(Attack("calls", name, inside(_with_numbers(body))) for name, body in CALLS.items()),
    *([_other_words()] if _COLUMN == 0 else []),
    *(Attack("processes", name, inside(body, ends=_OVER)) for name, body in PROCESSES.items()),
    *(Attack("processes", name, attempt) for name, attempt in LASTING),
    *(Attack("memory", name, attempt) for name, attempt in MEMORY),
    *(Attack("disk", name, attempt) for name, attempt in DISK),
]
assert LIMITS.processes == 64  # the numbers in the bodies above
