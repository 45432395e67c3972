"""Three hosts on one machine, one of which is cut off in mid-part: `python partition.py PLAN`, inside namespaces.

`PLAN` is JSON: `command` (of the driver), `environ`, `calls` (a folder) and `cuts` (a list of `[hold_s, mends]`). A
host is a network namespace on a bridge: 198.18.0.1 has the head and the driver, .2 and .3 a node of one CPU each. The
host that is cut off works on: it is held in a row, by a file that the task looks for, until `hold_s` seconds after the
cut, or, where that is null, until the driver has ended; then it writes, late. What happened is printed as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOSTS = (1, 2, 3)
HEAD = "198.18.0.1"
CHECKS = {"initial_delay_ms": 1000, "period_ms": 1000, "failure_threshold": 5, "timeout_ms": 1000}
PATIENCE_S = 120.0
START_TRIES = 3


def sh(*command: str, **options: Any) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)


def lay_out_hosts() -> None:
    sh("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    sh("mount", "-t", "tmpfs", "tmpfs", "/run")  # where `ip netns` keeps names
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "link", "add", "bridge", "type", "bridge")
    sh("ip", "link", "set", "bridge", "up")
    for n in HOSTS:
        sh("ip", "netns", "add", f"host{n}")
        sh("ip", "link", "add", f"port{n}", "type", "veth", "peer", "name", "eth0", "netns", f"host{n}")
        sh("ip", "link", "set", f"port{n}", "master", "bridge", "up")
        sh("ip", "-n", f"host{n}", "addr", "add", f"198.18.0.{n}/24", "dev", "eth0")
        sh("ip", "-n", f"host{n}", "link", "set", "eth0", "up")
        sh("ip", "-n", f"host{n}", "link", "set", "lo", "up")


def on(n: int, *command: str) -> list[str]:
    return ["ip", "netns", "exec", f"host{n}", *command]


def start_rays(environ: dict[str, str]) -> None:
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats", "--log-style", "record"]
    small = ["--object-store-memory", str(100 * 2**20)]
    config = json.dumps({f"health_check_{name}": value for name, value in CHECKS.items()})
    head = ["--head", "--port", "6379", "--include-dashboard", "false", "--num-cpus", "0", "--system-config", config]
    sh(*on(1, *ray, *small, *head, "--node-ip-address", HEAD), env=environ)
    for n in (2, 3):
        node = ["--address", f"{HEAD}:6379", "--num-cpus", "1", "--node-ip-address", f"198.18.0.{n}"]
        for left in range(START_TRIES)[::-1]:  # a busy machine needs longer than the 30 s that Ray waits for a node
            if subprocess.run(on(n, *ray, *small, *node), env=environ, stdout=subprocess.DEVNULL).returncode == 0:
                break
            if not left:
                raise RuntimeError(f"node {n} did not start")


def processes_of(n: int) -> set[int]:
    listed = subprocess.run(["ip", "netns", "pids", f"host{n}"], capture_output=True, text=True, check=True).stdout
    return {int(pid) for pid in listed.split()}


def calls_of(calls: Path, nodes: set[int]) -> int:
    """How many rows the workers of these raylets have begun."""
    lines = (line for path in calls.glob("[0-9]*") for line in path.read_text().split())
    return sum(int(line) in nodes for line in lines)


def wait_for(is_so: Any, what: str, driver: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline or driver.poll() is not None:
            raise RuntimeError(f"{what}; the driver: {driver.poll()}")
        time.sleep(0.02)


def cut(n: int, calls: Path, hold_s: float | None, driver: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Cut a host off while it has a row in hand; return what it did until it ended its part."""
    nodes = processes_of(n)
    before = calls_of(calls, nodes)
    wait_for(lambda: calls_of(calls, nodes) >= before + 15, f"host {n} is not at work", driver)  # a part and a half
    holds = [calls / f"hold-{node}" for node in nodes]
    for hold in holds:
        hold.touch()
    sh("ip", "link", "set", f"port{n}", "down")
    cut_at = time.monotonic()
    at_cut = calls_of(calls, nodes)
    if hold_s is None:
        driver.wait(PATIENCE_S)
    else:
        time.sleep(hold_s)
    ended = driver.poll()
    for hold in holds:
        hold.unlink()
    return {"held_s": round(time.monotonic() - cut_at, 1), "driver": ended, "late_rows": linger(calls, nodes, at_cut)}


def linger(calls: Path, nodes: set[int], at_cut: int) -> int:
    """Wait until the cut-off host writes no more; return how many rows it did after the cut."""
    last, since = calls_of(calls, nodes), time.monotonic()
    while time.monotonic() - since < 3.0:
        time.sleep(0.1)
        now = calls_of(calls, nodes)
        if now != last:
            last, since = now, time.monotonic()
    return last - at_cut


def main(plan: dict[str, Any]) -> None:
    lay_out_hosts()
    print(json.dumps({"hosts": len(HOSTS)}), flush=True)
    start_rays(plan["environ"])
    driver = subprocess.Popen(
        on(1, *plan["command"]), env=plan["environ"] | {"RAY_ADDRESS": f"{HEAD}:6379"}, stdout=sys.stderr
    )
    calls, seen = Path(plan["calls"]), []
    for hold_s, mends in plan["cuts"]:
        seen.append(cut(3, calls, hold_s, driver))
        if mends:
            sh("ip", "link", "set", "port3", "up")
    print(json.dumps({"code": driver.wait(PATIENCE_S), "cuts": seen}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
